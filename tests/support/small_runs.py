"""Small, quick runs of the project, for tests of readers of results."""

import os
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import product

from forked import Command, run_command
from own_parts import own_game

ALGORITHMS = ("qmix", "vdn", "iql")
GAMES = ("two_step", "matrix")
SEEDS = (1, 2)
UNHURRIED = """
def step(self, actions):
    time.sleep(0.03)  # and leave the processor to whoever watches
    return super().step(actions)
"""


def command(results, algorithm, game, seed, t_max=40, **changes):
    """The words of a command line that trains for forty steps and logs often."""
    settings = {
        "t_max": t_max,
        "batch_size": 16,
        "test_interval": 20,
        "log_interval": 20,
        "runner_log_interval": 10,
        "learner_log_interval": 10,
        "epsilon_anneal_time": 20,
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
    """Three algorithms on two games with two seeds, two runs at a time: the other test process waits for them."""

    def make(case):
        game, algorithm, seed = case
        words = command(results, algorithm, game, seed, save_replay=seed == 1)
        done = run_command(*words, cwd=results.parent)
        assert done.returncode == 0, done.stderr

    first, *others = product(GAMES, ALGORITHMS, SEEDS)
    make(first)  # the tests know it as Sacred's number 1
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(make, others))


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
    return Command(*words, *own_game(results.parent, UNHURRIED), cwd=results.parent)
