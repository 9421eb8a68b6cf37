"""Small, quick runs of the project, for tests of readers of results."""

import os
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]
ALGORITHMS = ("qmix", "vdn", "iql")
GAMES = ("two_step", "matrix")
SEEDS = (1, 2, 3)

_PROGRAM = """
import sys, main
for words in map(str.split, sys.stdin.read().splitlines()):
    code = main.main(words)
    if code:
        sys.exit(code)
"""


def command(results, algorithm, game, seed, t_max=200, **changes):
    """The words of a command line that trains for some hundred steps and logs often."""
    settings = {
        "t_max": t_max,
        "test_interval": 100,
        "log_interval": 100,
        "runner_log_interval": 50,
        "learner_log_interval": 50,
        "epsilon_anneal_time": 100,
        "seed": seed,
        "local_results_path": results,
        **changes,
    }
    return [
        f"--config={algorithm}",
        f"--env-config={game}",
        "with",
        *(f"{key}={value}" for key, value in settings.items()),
    ]


def make_runs(results):
    """Three algorithms on two games with three seeds, in one process."""
    lines = [
        " ".join(command(results, algorithm, game, seed, save_replay=seed == 1))
        for game in GAMES
        for algorithm in ALGORITHMS
        for seed in SEEDS
    ]
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM], input="\n".join(lines), text=True, capture_output=True, env=environment()
    )
    assert done.returncode == 0, done.stderr[-2000:]


def shared_runs(tmp_path_factory):
    """The folder of `make_runs`, made once for all processes of pytest."""
    base = tmp_path_factory.getbasetemp()
    shared = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "small-runs"
    try:
        shared.mkdir()
    except FileExistsError:
        for _ in range(2500):
            if (shared / "made").exists():
                break
            time.sleep(0.1)
    else:
        make_runs(shared / "results")
        (shared / "made").touch()
    return shared / "results"


def start_training(results):
    """A training that continues until it is ended."""
    words = command(results, "vdn", "two_step", 9, t_max=10_000_000)
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    training = subprocess.Popen([sys.executable, "-c", _PROGRAM], text=True, env=environment(), **pipes)
    training.stdin.write(" ".join(words))
    training.stdin.close()
    return training


def environment():
    return {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT / "src")}
