"""How fast are transports? Round trips a second of runner and workers, with environments that cost nothing, no network.

A round trip is one step of all environments: actions go out, everything comes back and is copied into a batch.

python benchmarks/transports.py
python benchmarks/transports.py --shapes 8m --environments 8 --envs-per-worker 1 4 --busy
"""

import argparse
import contextlib
import multiprocessing
import os
import statistics
import sys
import time
from functools import partial
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))

from free_env import FreeEnv
from free_shapes import SHAPES

from components.episode_buffer import EpisodeBatch
from components.scheme import scheme_of
from components.step_writer import StepWriter
from runners.playing import outcome_fields
from vector_envs import TRANSPORTS
from vector_envs.faults import FaultPolicy

EPISODE_LIMIT = 200
# they take turns: other work of the machine slows both alike
TURNS = 5


def started(transport: str, shape: str, environments: int, envs_per_worker: int):
    """The transport, in the middle of an episode that does not end."""
    factory = partial(FreeEnv, shape=shape, episode_limit=10**9)
    policy = FaultPolicy(restart=True, max_restarts=10, timeout=300.0)  # as vector_envs declares
    env = TRANSPORTS[transport]([{False: factory, True: factory}] * environments, envs_per_worker, True, policy)
    env.reset()
    return env


def rate(env, environments: int, seconds: float) -> float:
    """Round trips a second."""
    scheme, groups, preprocess = scheme_of(env.spec)
    store = StepWriter(EpisodeBatch(scheme, groups, environments, EPISODE_LIMIT + 1, preprocess=preprocess))
    actions = {"actions": np.zeros(env.spec.array_shape("actions", environments), dtype=np.int64)}
    everyone = np.arange(environments)
    trips, start = 0, time.perf_counter()
    while (passed := time.perf_counter() - start) < seconds:
        outcome = env.step(actions)
        t = trips % EPISODE_LIMIT
        store.write(outcome_fields(outcome), everyone, t)
        store.write(env.observed(), everyone, t + 1, mark_filled=True)
        trips += 1
    return trips / passed


def compared(shape: str, environments: int, envs_per_worker: int, seconds: float) -> dict[str, float]:
    """Round trips a second of every transport: the median of several turns."""
    turns: dict[str, list[float]] = {name: [] for name in TRANSPORTS}
    with contextlib.ExitStack() as stack:
        envs = {name: started(name, shape, environments, envs_per_worker) for name in TRANSPORTS}
        for env in envs.values():
            stack.callback(env.close)
            rate(env, environments, seconds / 10)
        for _ in range(TURNS):
            for name, env in envs.items():
                turns[name].append(rate(env, environments, seconds / TURNS))
    return {name: statistics.median(rates) for name, rates in turns.items()}


def keep_busy() -> None:
    """Compute until the benchmark has ended."""
    trainer = multiprocessing.parent_process()
    while trainer.is_alive():
        sum(range(100_000))


@contextlib.contextmanager
def busy_cores():
    """Every core has something else to do."""
    context = multiprocessing.get_context("spawn")
    others = [context.Process(target=keep_busy, daemon=True) for _ in range(os.cpu_count())]
    for other in others:
        other.start()
    try:
        yield
    finally:
        for other in others:
            other.terminate()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--shapes", nargs="+", default=list(SHAPES), choices=SHAPES)
    parser.add_argument("--environments", nargs="+", type=int, default=[1, 8, 32])
    parser.add_argument("--envs-per-worker", nargs="+", type=int, default=[1, 4])
    parser.add_argument("--seconds", type=float, default=3.0, help="for each figure")
    parser.add_argument("--busy", action="store_true", help="while every core has something else to do")
    options = parser.parse_args()
    print("round trips a second" + (", every core busy with something else" if options.busy else ""))
    print(f"{'shape':<12}{'environments':>13}{'of a worker':>12}{'pipe':>10}{'shared_memory':>15}")
    with busy_cores() if options.busy else contextlib.nullcontext():
        for shape in options.shapes:
            for count in options.environments:
                for per_worker in options.envs_per_worker:
                    if per_worker > count:
                        continue
                    rates = compared(shape, count, per_worker, options.seconds)
                    pipe, shared = rates["pipe"], rates["shared_memory"]
                    figures = f"{pipe:>10,.0f}{shared:>15,.0f}{shared / pipe:>6.1f}×"
                    print(f"{shape:<12}{count:>13}{per_worker:>12}{figures}", flush=True)


if __name__ == "__main__":
    main()
