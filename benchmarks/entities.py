"""Environments of entities and training on them: steps a second here, and with entity-gym and enn-trainer.

    python benchmarks/entities.py
    python benchmarks/entities.py --peer-python ../enn/bin/python --peer-path ../entity-gym:../rogue-net:../enn-trainer

Environments alone: 128 of a game, random legal choices, for some seconds. What the machine allows: two processes that
have half of them each and do not wait for each other, and two that only count.
Training: MineSweeper with the settings of enn-trainer (`enn_ppo`), environment steps for each second of processor time
of the whole process, one thread. All take turns, and the median over rounds counts; the peer's Python has entity-gym's
and enn-trainer's packages.
"""

import argparse
import multiprocessing
import os
import resource
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from statistics import median

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))

from envs.entities.batch import EntityBatch

ROOT = Path(__file__).resolve().parents[1]
PEERS = ROOT / "benchmarks" / "peers"
ONE_THREAD = {**os.environ, "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}


def played(env, copies: int, seconds: float, begin=lambda: None) -> float:
    """Steps a second of random legal choices; ended episodes restart. `begin` is called after a second of them."""
    draw = np.random.default_rng(1)
    env.reset()
    for measured in (False, True):
        if measured:
            begin()
        steps, start = 0, time.perf_counter()
        while (passed := time.perf_counter() - start) < (seconds if measured else 1):
            legal = env.observed()["avail_actions"]
            _, terminated, truncated, *_ = env.step({"actions": (draw.random(legal.shape) * legal).argmax(-1)})
            if (ended := terminated | truncated).any():
                env.reset(ended)
            steps += copies
    return steps / passed


def counted(seconds: float, begin) -> float:
    """Rounds of an empty loop a second."""
    begin()
    rounds, start = 0, time.perf_counter()
    while (passed := time.perf_counter() - start) < seconds:
        for _ in range(10_000):
            pass
        rounds += 1
    return rounds / passed


def independent(processes: int, work, *arguments) -> float:
    """What `work(*arguments, begin=...)` returns in that many processes at once, together."""
    context = multiprocessing.get_context("spawn")
    barrier, results = context.Barrier(processes), context.SimpleQueue()
    started = [context.Process(target=_report, args=(results, barrier, work, arguments)) for _ in range(processes)]
    for process in started:
        process.start()
    found = [results.get() for _ in started]
    for process in started:
        process.join()
    if None in found:
        raise SystemExit(f"{work.__name__}{arguments} failed in a process of its own")
    return sum(found)


def _report(results, barrier, work, arguments) -> None:
    found = None
    try:
        found = work(*arguments, begin=barrier.wait)
    finally:
        barrier.abort()
        results.put(found)


def played_alone(game: str, copies: int, seconds: float, begin) -> float:
    return played(EntityBatch(copies, game, seed=1), copies, seconds, begin)


def environments(game: str, copies: int, seconds: float, peer) -> dict[str, float]:
    """Steps a second by place."""
    found = {"here": played(EntityBatch(copies, game, seed=1), copies, seconds)}
    found["here, 2 processes, each on its own"] = independent(2, played_alone, game, copies // 2, seconds)
    for processes in (1, 2) if peer else ():
        words = [game, str(copies), str(processes), str(seconds)]
        found[f"entity-gym, {processes} process{'es' * (processes > 1)}"] = float(peer("enn_environments.py", *words))
    return found


def training(steps: int, peer) -> dict[str, float]:
    """Steps for each second of processor time."""
    words = f"--config=enn_ppo --env-config=entities with t_max={steps} seed=1 test_nepisode=1 test_interval=100000000"
    with tempfile.TemporaryDirectory() as results:
        command = [sys.executable, str(ROOT / "src" / "main.py"), *words.split(), f"local_results_path={results}"]
        found = {"here": steps / processor_seconds(partial(said, command, ONE_THREAD))}
    if peer:
        settings = ["cuda=false", f"total_timesteps={steps}", "rollout.processes=1"]
        found["enn-trainer"] = steps / processor_seconds(partial(peer, "enn_training.py", *settings))
    return found


def processor_seconds(call) -> float:
    """Of the children that `call` starts and waits for."""
    used = lambda: sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2])  # noqa: E731
    before = used()
    call()
    return used() - before


def said(command: list[str], environment: dict[str, str], folder: str | None = None) -> str:
    done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=folder)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} ended with exit code {done.returncode}:\n{done.stderr[-3000:]}")
    return done.stdout.strip().rpartition("\n")[2]


def peer_of(options: argparse.Namespace):
    """A function that runs a script of `peers/` and returns its last line, or None."""
    if not options.peer_python:
        return None
    path = os.pathsep.join(str(Path(part).resolve()) for part in options.peer_path.split(os.pathsep))
    environment = {**ONE_THREAD, "PYTHONPATH": path}
    python = str(Path(options.peer_python).absolute())

    def peer(script: str, *words: str) -> str:
        with tempfile.TemporaryDirectory() as folder:  # where enn-trainer writes its logs
            return said([python, str(PEERS / script), *words], environment, folder)

    return peer


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--games", nargs="+", default=["MineSweeper", "MultiSnake", "MoveToOrigin"])
    parser.add_argument("--copies", type=int, default=128, help="of each environment, an even number")
    parser.add_argument("--seconds", type=float, default=5.0, help="for each measurement of environments")
    parser.add_argument("--steps", type=int, default=600_000, help="of each training; 0: none")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--peer-python")
    parser.add_argument("--peer-path", default="", help="folders of entity-gym, rogue-net and enn-trainer, by colons")
    options = parser.parse_args()
    peer = peer_of(options)

    measured = {game: partial(environments, game, options.copies, options.seconds, peer) for game in options.games}
    measured["an empty loop"] = lambda: {
        f"{n} process{'es' * (n > 1)}": independent(n, counted, options.seconds) for n in (1, 2)
    }
    if options.steps:
        measured["training on MineSweeper"] = partial(training, options.steps, peer)
    rounds = {name: [measure() for _ in range(options.rounds)] for name, measure in measured.items()}
    print("| | | steps/s | ratio |\n| --- | --- | --- | --- |")
    for name, tables in rounds.items():
        places = list(tables[0])
        reference = next((place for place in places if place.startswith(("entity-gym", "enn-"))), places[0])
        for place in places:
            ratio = median(table[place] / table[reference] for table in tables)
            print(f"| {name} | {place} | {median(table[place] for table in tables):,.0f} | {ratio:.2f} |")
    print("Of training, the steps for each second of processor time.")


if __name__ == "__main__":
    main()
