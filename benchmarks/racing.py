"""How fast is racing? Car-steps per second, with random actions; and beside Gymnasium's CarRacing, if it is installed.

python benchmarks/racing.py
python benchmarks/racing.py --seconds 5 --track seeds:1-50
python benchmarks/racing.py --batch 8 64 1024 --threads 2
"""

import argparse
import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))

from envs.racing.batch import BatchedRaces
from envs.racing.environment import RacingEnv
from envs.racing.state import INPUTS

TARGETS = {"float": 1_000_000, "picture": 20_000, "both": 20_000}
CASES = (
    ("float", {}),
    ("float", {"zones_ahead": 10, "zones_every": 40}),
    ("float", {"n_cars": 4}),
    ("float", {"walls": False, "gears": 0}),
    ("picture", {"picture_size": 42}),
    ("picture", {"picture_size": 84}),
    ("both", {"picture_size": 84, "n_cars": 4}),
)


def batched(batch_size: int, seconds: float, **options) -> float:
    """Steps per second of the cars that drive, in `batch_size` races, resets included."""
    races = BatchedRaces(batch_size, seed=1, **options)
    cars = races.options.n_cars
    rng = np.random.default_rng(0)
    # mostly forward, so that cars come far and races last
    shape = (97, batch_size, cars)
    actions = np.where(rng.random(shape) < 0.5, 0, rng.integers(len(INPUTS), size=shape))
    out = races.reset()

    def play(least: float) -> float:
        start, driven, step = time.perf_counter(), 0, 0
        while (passed := time.perf_counter() - start) < least:
            for _ in range(5):
                driven += int(np.count_nonzero(out.present))
                races.step(actions[step % len(actions)])
                ended = out.terminated | out.truncated
                if ended.any():
                    races.reset(ended)
                step += 1
        return driven / passed

    play(0.3 * seconds)  # compiles, and spreads the races over their lengths
    return play(seconds)


def single(seconds: float) -> float:
    """Steps per second of one race of one car by the environment's methods."""
    env, rng, steps, ended = RacingEnv(seed=1), np.random.default_rng(0), 0, True
    start = time.perf_counter()
    while (passed := time.perf_counter() - start) < seconds:
        if ended:
            env.reset()
        _, terminated, truncated, _ = env.step({"actions": rng.integers(len(INPUTS), size=1)})
        ended = terminated or truncated
        env.observe()
        steps += 1
    return steps / passed


def car_racing(seconds: float) -> float | None:
    """Steps per second of Gymnasium's CarRacing with its pictures of 96 x 96; None: it is not installed."""
    try:
        import gymnasium

        env = gymnasium.make("CarRacing-v3", continuous=False)
    except Exception:  # of Gymnasium, Box2D or pygame
        return None
    env.reset(seed=1)
    steps, start = 0, time.perf_counter()
    while (passed := time.perf_counter() - start) < seconds:
        *_, terminated, truncated, _ = env.step(env.action_space.sample())
        if terminated or truncated:
            env.reset()
        steps += 1
    env.close()
    return steps / passed


def in_threads(track: str, sizes: list[int], seconds: float, threads: int) -> None:
    """Print the car-steps per second in one thread and in several, in turns; medians of three."""
    print(f"car-steps per second in 1 thread and in {threads}, and the ratio\n")
    for words in ({"view": "float"}, {"view": "picture", "picture_size": 84}):
        for size in sizes:
            each = [
                [batched(size, seconds, map_cycle=[track], threads=count, **words) for count in (1, threads)]
                for _ in range(3)
            ]
            one, several = np.median(each, axis=0)
            print(f"{words['view']:<10}{size:>8,}{one:>12,.0f}{several:>12,.0f}{several / one:>8.2f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seconds", type=float, default=2.0, help="for each figure")
    parser.add_argument("--batch", type=int, nargs="+", default=[1, 64, 1024])
    parser.add_argument("--track", default="seed:1", help="an entry of env_args.map_cycle")
    parser.add_argument("--threads", type=int, default=0, help="only compare this number of threads with one")
    options = parser.parse_args()
    if options.threads:
        in_threads(options.track, options.batch, options.seconds, options.threads)
        return
    print(f"car-steps per second, one thread, by races in the batch\n{'view and options':<44}", end="")
    print("".join(f"{size:>12,}" for size in options.batch) + f"{'target':>12}{'ratio':>8}")
    best = {}
    for view, changes in CASES:
        words = {"view": view, **changes}
        rates = [batched(size, options.seconds, map_cycle=[options.track], **words) for size in options.batch]
        label = " ".join(f"{key}={value}" if key != "view" else value for key, value in words.items())
        best[label] = max(rates)
        ratio = f"{TARGETS[view]:>12,}{max(rates) / TARGETS[view]:>8.2f}"
        print(f"{label:<44}" + "".join(f"{rate:>12,.0f}" for rate in rates) + ratio, flush=True)
    print(f"\none race by the environment's methods: {single(options.seconds):,.0f}")
    peer = car_racing(options.seconds)
    if peer is None:
        print("Gymnasium's CarRacing is not installed: pip install 'gymnasium[box2d]'")
        return
    print(f"Gymnasium's CarRacing-v3, 96 x 96 RGB: {peer:,.0f}")
    for label in ("float", "picture picture_size=84"):
        print(f"{label}: {best[label] / peer:,.0f} times as many")


if __name__ == "__main__":
    main()
