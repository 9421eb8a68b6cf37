"""Trials of a search: drawn or listed, always the same."""

import math

import numpy as np
import pytest

from suites.plan.search import read_search
from suites.plan.suite_file import read_suite
from utils.errors import ConfigError

SPACE = {
    "lr": {"log_uniform": [0.0001, 0.01]},
    "gamma": {"uniform": [0.9, 0.99]},
    "batch_size": {"int": [2, 5]},
    "env_args": {"difficulty": {"choice": ["1", "7"]}},
}


def trials_of(search):
    return read_search(search).listed


def test_random_trials_lie_in_their_ranges_and_fill_them():
    trials = list(trials_of({"trials": 400, "space": SPACE}).values())
    logs = [math.log10(trial["lr"]) for trial in trials]
    assert -4 <= min(logs) < -3.95 and -2.05 < max(logs) <= -2
    # a quarter of them in each quarter of the logarithms: 100, with a deviation of 9
    counts, _ = np.histogram(logs, bins=4, range=(-4, -2))
    assert counts.sum() == 400 and counts.min() > 60
    gammas = [trial["gamma"] for trial in trials]
    assert 0.9 <= min(gammas) < 0.905 and 0.985 < max(gammas) <= 0.99 and abs(np.mean(gammas) - 0.945) < 0.01
    assert {trial["batch_size"] for trial in trials} == {2, 3, 4, 5}
    assert {trial["env_args"]["difficulty"] for trial in trials} == {"1", "7"}


def test_more_trials_and_another_order_of_keys_change_none():
    few, many = trials_of({"trials": 5, "space": SPACE}), trials_of({"trials": 50, "space": SPACE})
    assert list(few) == ["t1", "t2", "t3", "t4", "t5"] and few.items() <= many.items()
    turned = dict(reversed(SPACE.items()))
    assert trials_of({"trials": 5, "space": turned}) == few
    assert trials_of({"trials": 5, "seed": 2, "space": SPACE}) != few


def test_a_grid_is_every_combination():
    space = {"lr": {"choice": [0.1, 0.2]}, "batch_size": {"int": [3, 5]}}
    trials = trials_of({"method": "grid", "space": space})
    pairs = [(trial["batch_size"], trial["lr"]) for trial in trials.values()]
    assert pairs == [(3, 0.1), (3, 0.2), (4, 0.1), (4, 0.2), (5, 0.1), (5, 0.2)]


@pytest.mark.parametrize(
    "search, message",
    [
        ({"space": SPACE}, "search.trials is missing"),
        ({"trials": 3}, "search.space=None: expected ranges by config key"),
        ({"method": "tpee", "trials": 3, "space": SPACE}, "search.method=tpee: no such choice. Did you mean 'tpe'?"),
        ({"method": "tpe", "space": SPACE}, "search.trials is missing"),
        ({"trials": 3, "pruning": "median", "space": SPACE}, "search.pruning: only the method tpe has it"),
        ({"trials": 3, "direction": "up", "space": SPACE}, "search.direction=up: no such choice"),
        ({"trials": 3, "last": 0, "space": SPACE}, "search.last=0: it must be at least 1"),
        ({"method": "grid", "trials": 3, "space": SPACE}, "search.trials: a grid has as many"),
        ({"method": "grid", "space": SPACE}, "search.space.gamma: a grid has no uniform"),
        ({"method": "grid", "space": {"a": {"int": [0, 10**9]}}}, "search.space.a: more than 1000 values"),
        ({"trials": 3, "space": {"lr": {"unifrm": [0, 1]}}}, "search.space.lr={'unifrm': [0, 1]}: expected one of"),
        ({"trials": 3, "space": {"lr": {"uniform": [1, 0]}}}, "the first is the smaller one."),
        ({"trials": 3, "space": {"lr": {"log_uniform": [0, 1]}}}, "the smaller one and both are above 0"),
        ({"trials": 3, "space": {"lr": {"int": [0.5, 1]}}}, "expected two whole numbers"),
        ({"trials": 3, "space": {"lr": {"uniform": [0, float("inf")]}}}, "expected two numbers"),
        ({"trials": 3, "space": {"lr": {"choice": [5, "5", 5]}}}, "search.space.lr.choice: 5 is in the list twice"),
        ({"trials": 2000, "space": SPACE}, "search.trials=2000: it must be at most 1000"),
        ({"trails": 3, "space": SPACE}, "search: unknown key 'trails'. Did you mean 'trials'?"),
    ],
)
def test_mistakes_in_a_search_are_named(search, message):
    with pytest.raises(ConfigError) as caught:
        trials_of(search)
    assert message in str(caught.value)


def test_trials_are_an_axis_of_the_suite(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text(
        "algorithms: qmix\nenvironments: two_step\nexclude: [{trial: t2}]\n"
        "search: {trials: 3, space: {lr: {uniform: [0.1, 0.2]}}}"
    )
    suite = read_suite(path)
    assert suite.axes[-1] == "trial" and suite.values("trial") == ["t1", "t2", "t3"]
    assert suite.excluded == [{"trial": ["t2"]}]
    path.write_text(path.read_text() + "\noverrides: {trial: {a: {}}}")
    with pytest.raises(ConfigError, match="the search has an axis of this name"):
        read_suite(path)
