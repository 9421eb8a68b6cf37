"""The absolute metric: the best model of a run, tested again with other seeds."""

import csv
import json
import logging
from typing import ClassVar

import numpy as np
import pytest

from cli.compose import compose_config
from envs import REGISTRY
from envs.small.two_step import TwoStepGame
from forked import run_command
from own_parts import own_game, registries_restored
from records.absolute_metric import absolute_key
from run import run

WON = 0.8
TESTS, EPISODES = 20, 32


class Coin(TwoStepGame):
    """Won by chance, whatever is done."""

    seeds: ClassVar[list] = []

    def __init__(self, seed=None):
        super().__init__()
        self.rng = np.random.default_rng(seed)
        self.seeds.append(seed)

    def step(self, actions):
        won = self.rng.random() < WON
        return float(won), True, {"battle_won": bool(won)}


def listening(messages):
    """A console whose lines are appended to `messages`."""
    console, handler = logging.getLogger("absolute_metric"), logging.Handler()
    handler.emit = lambda record: messages.append(record.getMessage())
    console.handlers = [handler]
    return console


def figures_of(results):
    (metrics,) = results.glob("runs/*/metrics.csv")
    found = {}
    with metrics.open() as file:
        for row in csv.DictReader(file):
            found.setdefault(row["key"], []).append((int(row["t_env"]), float(row["value"])))
    return found


def test_the_best_test_of_a_policy_that_never_changes_is_too_high_and_the_absolute_metric_is_not(tmp_path):
    config = compose_config("iql", "two_step").config
    config |= {"env": "coin", "env_args": {}, "t_max": TESTS * 10, "test_interval": 10, "test_nepisode": EPISODES}
    config |= {"batch_size": 4, "buffer_size": 8, "seed": 7, "absolute_metric": True, "save_model": True}
    config |= {"local_results_path": str(tmp_path), "checkpoint_interval": 10**6, "lr": 1e-12, "log_interval": 10**6}
    config |= {"runner": "episode", "batch_size_run": 1}
    with registries_restored():
        REGISTRY["coin"] = Coin
        Coin.seeds.clear()
        run(config)
    found = figures_of(tmp_path)
    tests = [value for _, value in found["test_battle_won_mean"]]
    assert len(tests) > TESTS
    # of 10 * 32 episodes; the standard error is 0.022
    ((at, absolute),) = found["absolute_battle_won_mean"]
    assert abs(absolute - WON) < 0.05 and max(tests) >= WON + 0.08
    assert absolute * 10 * EPISODES == pytest.approx(round(absolute * 10 * EPISODES))
    ((_, step),) = found["absolute_model_step"]
    assert at > TESTS * 10
    assert step in [t for t, value in found["test_battle_won_mean"] if value == max(tests)]
    # of the run's own, for training and for tests, and of the absolute metric's
    assert len(set(Coin.seeds)) == len(Coin.seeds) == 4
    (done,) = tmp_path.glob("runs/*/done.json")
    assert json.loads(done.read_text())["t_env"] == at


STOPS_IN_THE_THIRD = """
made = 0
def __init__(self, **env_args):
    super().__init__(**env_args)
    type(self).made += 1
def reset(self):
    super().reset()
    if self.made > 2 and pathlib.Path("stop").exists():
        os.kill(os.getpid(), signal.SIGTERM)
"""


def test_a_run_that_is_stopped_during_the_absolute_metric_plays_it_when_it_is_resumed(tmp_path):
    words = own_game(tmp_path, STOPS_IN_THE_THIRD)
    (tmp_path / "stop").touch()
    settings = ["t_max=40", "test_interval=20", "test_nepisode=2", "absolute_metric=True", "batch_size=2", *words]
    stopped = run_command("--config=iql", "--env-config=two_step", "with", "seed=1", *settings, cwd=tmp_path)
    assert stopped.returncode == 143, stopped.stderr
    assert "Interrupted by SIGTERM during the absolute metric. Training is done. Resume from" in stopped.stderr
    results = tmp_path / "results"
    assert not list(results.glob("runs/*/done.json")) and "absolute_return_mean" not in figures_of(results)
    (tmp_path / "stop").unlink()
    (run_folder,) = results.glob("runs/*")
    resumed = run_command(f"--resume={run_folder}", cwd=tmp_path)
    assert resumed.returncode == 0, resumed.stderr
    assert "Absolute metric, 20 episodes of the model of step" in resumed.stdout
    assert (run_folder / "done.json").exists() and len(figures_of(results)["absolute_return_mean"]) == 1


def test_without_a_tested_model_it_says_that_there_is_none(tmp_path):
    config = compose_config("iql", "two_step").config
    config |= {"t_max": 10, "absolute_metric": True, "save_model": False, "local_results_path": str(tmp_path)}
    messages = []
    run(config, log=listening(messages))
    assert "absolute_metric has no effect: the run has kept no model that was tested." in messages


def test_names():
    assert absolute_key("test_return_mean") == "absolute_return_mean"
    assert absolute_key("return_mean") == ""
