"""Environments of entities and training on them: steps a second here, and with entity-gym and enn-trainer.

    python benchmarks/entities.py
    python benchmarks/entities.py --peer-python ../enn/bin/python --peer-path ../entity-gym:../rogue-net:../enn-trainer

Environments alone: 128 of a game, random legal choices, in this process and in two others, for some seconds each.
Training: MineSweeper with the settings of enn-trainer (`enn_ppo`), environment steps for each second of processor time
of the whole process, one thread. All take turns, and the median over rounds counts; the peer's Python has entity-gym's
and enn-trainer's packages.
"""

import argparse
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
from envs.seeds import copies_seeds
from vector_envs.split import SplitEnv

ROOT = Path(__file__).resolve().parents[1]
PEERS = ROOT / "benchmarks" / "peers"
NUMBER = 128
ONE_THREAD = {**os.environ, "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}


def played(env, seconds: float) -> float:
    """Steps a second of random legal choices; ended episodes restart."""
    draw = np.random.default_rng(1)
    env.reset()
    for measured in (False, True):
        steps, start = 0, time.perf_counter()
        while (passed := time.perf_counter() - start) < (seconds if measured else 1):
            legal = env.observed()["avail_actions"]
            _, terminated, truncated, *_ = env.step({"actions": (draw.random(legal.shape) * legal).argmax(-1)})
            if (ended := terminated | truncated).any():
                env.reset(ended)
            steps += NUMBER
    return steps / passed


def divided(game: str, processes: int) -> SplitEnv:
    """The same copies, divided among processes that step at once (`native_processes`)."""
    seeds, size = copies_seeds(1, NUMBER), NUMBER // processes
    parts = [seeds[first : first + size] for first in range(0, NUMBER, size)]
    factories = [partial(EntityBatch, len(part), game, seed=part) for part in parts]
    return SplitEnv(factories, [len(part) for part in parts], timeout=300.0)


def environments(game: str, seconds: float, peer) -> dict[str, float]:
    """Steps a second by place."""
    found = {"here, 1 process": played(EntityBatch(NUMBER, game, seed=1), seconds)}
    env = divided(game, 2)
    try:
        found["here, 2 processes"] = played(env, seconds)
    finally:
        env.close()
    for processes in (1, 2) if peer else ():
        words = [game, str(NUMBER), str(processes), str(seconds)]
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


def said(command: list[str], environment: dict[str, str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} ended with exit code {done.returncode}:\n{done.stderr[-3000:]}")
    return done.stdout.strip().rpartition("\n")[2]


def peer_of(options: argparse.Namespace):
    """A function that runs a script of `peers/` and returns its last line, or None."""
    if not options.peer_python:
        return None
    path = os.pathsep.join(str(Path(part).resolve()) for part in options.peer_path.split(os.pathsep))
    environment = {**ONE_THREAD, "PYTHONPATH": path}
    return lambda script, *words: said([options.peer_python, str(PEERS / script), *words], environment)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--games", nargs="+", default=["MineSweeper", "MultiSnake", "MoveToOrigin"])
    parser.add_argument("--seconds", type=float, default=5.0, help="for each measurement of environments")
    parser.add_argument("--steps", type=int, default=200_000, help="of each training")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--peer-python")
    parser.add_argument("--peer-path", default="", help="folders of entity-gym, rogue-net and enn-trainer, by colons")
    options = parser.parse_args()
    peer = peer_of(options)

    measured = {game: partial(environments, game, options.seconds, peer) for game in options.games}
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
