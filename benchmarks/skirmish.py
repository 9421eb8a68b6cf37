"""How fast is Skirmish? Environment steps per second, with random legal actions chosen in the same loop.

python benchmarks/skirmish.py
python benchmarks/skirmish.py --maps 3m 8m --seconds 5
python benchmarks/skirmish.py --maps 3m 8m --threads 2
"""

import argparse
import sys
import time
from pathlib import Path

import numba
import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))

from envs.skirmish.batch import BatchedSkirmish
from envs.skirmish.environment import SkirmishEnv

BATCHES = (1, 64, 256, 1024)
# steps per second in one thread: what a third of a marine-only C program does, and SMAClite's on such a machine
TARGETS = {"3m": 400_000, "8m": 90_000, "27m_vs_30m": 12_000}
SMACLITE = {"3m": 240, "8m": 140, "2s3z": 170, "MMM": 85, "27m_vs_30m": 45, "corridor": 35}
SINGLE_TARGET = 10_000


@numba.njit
def choose(avail_actions, actions, state):
    """One legal action for every agent, all as likely; `state[0]` is a xorshift generator's."""
    x = state[0]
    for b in range(actions.shape[0]):
        for i in range(actions.shape[1]):
            legal = 0
            for a in range(avail_actions.shape[2]):
                legal += avail_actions[b, i, a]
            x ^= x << np.uint64(13)
            x ^= x >> np.uint64(7)
            x ^= x << np.uint64(17)
            left = int(x % np.uint64(legal))
            for a in range(avail_actions.shape[2]):
                if avail_actions[b, i, a]:
                    if left == 0:
                        actions[b, i] = a
                        break
                    left -= 1
    state[0] = x


def batched(name: str, batch_size: int, seconds: float, threads: int = 1) -> float:
    """Environment steps per second of `batch_size` battles, resets included."""
    battles = BatchedSkirmish(batch_size, map_name=name, seed=1, threads=threads)
    out = battles.reset()
    actions = np.zeros((batch_size, battles.n_agents), dtype=np.int64)
    random = np.array([88172645463325252], dtype=np.uint64)

    def play(least: float) -> float:
        start, steps = time.perf_counter(), 0
        while (passed := time.perf_counter() - start) < least:
            for _ in range(10):
                choose(out.avail_actions, actions, random)
                battles.step(actions)
                if out.terminated.any():
                    battles.reset(out.terminated.copy())
            steps += 10
        return steps * batch_size / passed

    play(0.2 * seconds)  # compiles, and spreads the battles over their episodes
    return play(seconds)


def single(name: str, seconds: float) -> float:
    """Steps a second of one battle through PyMARL's methods."""
    env = SkirmishEnv(map_name=name, seed=1)
    rng, steps, ended = np.random.default_rng(0), 0, True
    start = time.perf_counter()
    while (passed := time.perf_counter() - start) < seconds:
        if ended:
            env.reset()
        legal = np.array(env.get_avail_actions())
        _, ended, _ = env.step((rng.random(legal.shape) * legal).argmax(-1))
        env.get_obs(), env.get_state()
        steps += 1
    return steps / passed


def in_threads(names: list[str], seconds: float, threads: int) -> None:
    """Print the steps per second in one thread and in several, in turns; medians of three."""
    print(f"environment steps per second in 1 thread and in {threads}, and the ratio\n")
    for name in names:
        for size in (64, 128, 256, 1024):
            rates = [[batched(name, size, seconds, count) for count in (1, threads)] for _ in range(3)]
            one, several = np.median(rates, axis=0)
            print(f"{name:<14}{size:>8,}{one:>12,.0f}{several:>12,.0f}{several / one:>8.2f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--maps", nargs="+", default=list(SMACLITE))
    parser.add_argument("--seconds", type=float, default=2.0, help="for each figure")
    parser.add_argument("--threads", type=int, default=0, help="only compare this number of threads with one")
    options = parser.parse_args()
    if options.threads:
        in_threads(options.maps, options.seconds, options.threads)
        return
    print("environment steps per second, one thread, by batch size; ratio of the best at 256 and more to the target\n")
    heads = [f"{size:>12,}" for size in BATCHES]
    print(f"{'map':<14}" + "".join(heads) + f"{'target':>12}{'ratio':>8}{'SMAClite':>10}{'ratio':>10}")
    for name in options.maps:
        rates = [batched(name, size, options.seconds) for size in BATCHES]
        best, target, lite = max(rates[2:]), TARGETS.get(name), SMACLITE.get(name)
        line = f"{name:<14}" + "".join(f"{rate:>12,.0f}" for rate in rates)
        line += f"{target:>12,}{best / target:>8.2f}" if target else f"{'':>20}"
        line += f"{lite:>10}{best / lite:>10,.0f}" if lite else ""
        print(line, flush=True)
    name = options.maps[0]
    rate = single(name, options.seconds)
    print(
        f"\none {name} battle through PyMARL's methods: {rate:,.0f}, "
        f"target {SINGLE_TARGET:,}, ratio {rate / SINGLE_TARGET:.1f}"
    )
    one, two = (batched(name, 1024, options.seconds, threads) for threads in (1, 2))
    print(f"1,024 {name} battles in 1 thread: {one:,.0f}, in 2: {two:,.0f}, ratio {two / one:.2f}")


if __name__ == "__main__":
    main()
