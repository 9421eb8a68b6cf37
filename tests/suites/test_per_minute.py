"""The search by expected improvement per minute: regression, improvement, and what is suggested."""

import math

import numpy as np
import pytest

from suite_children import BEST_RATE, launcher, searched
from suites.plan.resources import Machine
from suites.plan.search import read_search
from suites.search.gaussian_process import GaussianProcess, expected_improvement
from suites.search.per_minute import PerMinute
from suites.state.runs import DONE, FAILED
from suites.state.trials import End, Trial
from utils.errors import ConfigError

SPACE = {"lr": {"log_uniform": [1e-4, 1e-2]}, "width": {"choice": [8, 512]}}
SEARCH = {"method": "per_minute", "trials": 40, "startup": 2, "space": SPACE}


def test_a_process_goes_through_its_points_and_returns_to_the_mean():
    x = np.array([[0.0], [0.5], [1.0]])
    y = np.array([1.0, 3.0, 2.0])
    process = GaussianProcess(x, y)
    mean, deviation = process.predict(x)
    assert np.allclose(mean, y, atol=0.25) and (deviation < 0.4).all()
    mean, deviation = process.predict(np.array([[100.0]]))
    assert mean[0] == pytest.approx(2.0) and deviation[0] == pytest.approx(y.std())


def test_a_process_is_that_of_the_textbook():
    """Two points, by hand: k(0) = 1, and k(r) of the Matérn kernel with the length and noise that it has chosen."""
    process = GaussianProcess(np.array([[0.0], [0.3]]), np.array([-1.0, 1.0]))
    length, noise = process._length, process._factor[0, 0] ** 2 - 1

    def k(distance):
        r = math.sqrt(5) * distance / length
        return (1 + r + r * r / 3) * math.exp(-r)

    a, b = 1 + noise, k(0.3)
    inverse = np.array([[a, -b], [-b, a]]) / (a * a - b * b)
    across = np.array([k(0.1), k(0.2)])
    mean, deviation = process.predict(np.array([[0.1]]))
    assert mean[0] == pytest.approx(across @ inverse @ [-1.0, 1.0])
    assert deviation[0] == pytest.approx(math.sqrt(1 - across @ inverse @ across))


def test_expected_improvement_is_the_mean_of_what_exceeds_the_best():
    means, deviations, best = np.array([0.0, 1.0, -2.0]), np.array([1.0, 0.5, 0.1]), 0.7
    samples = np.random.default_rng(0).normal(size=(400_000, 1)) * deviations + means
    expected = np.maximum(samples - best, 0).mean(axis=0)
    assert np.allclose(expected_improvement(means, deviations, best), expected, atol=2e-3)


def ended(number, lr, width, value, minutes):
    end = End(FAILED, minutes=minutes) if value is None else End(DONE, value, minutes=minutes)
    return Trial(number, {"lr": lr, "width": width}, [], end=end)


def suggested(trials, search=SEARCH, better=lambda value: value):
    guide = PerMinute(read_search(search), better)
    guide.learn(trials)
    return {path[0]: value for path, value in guide.ask(len(trials) + 1).settings.items()}


def test_of_two_as_good_the_cheaper_one_is_tried():
    rates = (1e-4, 3e-4, 1e-3, 3e-3, 1e-2)
    value = lambda lr: -((math.log10(lr) + 2.7) ** 2)  # noqa: E731
    for cheap in (8, 512):
        trials = [
            ended(2 * k + i + 1, lr, width, value(lr), 1.0 if width == cheap else 20.0)
            for k, lr in enumerate(rates)
            for i, width in enumerate((8, 512))
        ]
        found = suggested(trials)
        assert found["width"] == cheap and 5e-4 < found["lr"] < 1e-2
    # with equal costs it goes where the value is
    better = [ended(one.number, one.settings["lr"], one.settings["width"],
                    one.end.value + (one.settings["width"] == 8), 1.0) for one in trials]  # fmt: skip
    assert suggested(better)["width"] == 8


def test_trials_are_drawn_first_and_failures_count_as_poor():
    drawn = read_search({"method": "random", "trials": 3, "space": SPACE}).listed
    assert suggested([]) == drawn["t1"] and suggested([ended(1, 1e-3, 8, 1.0, 1.0)]) == drawn["t2"]
    trials = [ended(1, 1e-4, 8, 0.0, 1.0), ended(2, 1e-2, 8, None, 1.0), ended(3, 1e-3, 8, 1.0, 1.0)]
    assert suggested(trials) == suggested(trials) != drawn["t3"]
    rates = {1e-4: 1.0, 3e-4: 0.5, 1e-3: 0.0, 3e-3: None, 6e-3: None, 1e-2: None}
    made = [(lr, width, value) for width in (8, 512) for lr, value in rates.items()]
    assert suggested([ended(k, *one, 1.0) for k, one in enumerate(made, 1)])["lr"] < 3e-4


def test_the_budget_ends_it():
    guide = PerMinute(read_search({**SEARCH, "minutes": 5}), lambda value: value)
    trials = [ended(1, 1e-3, 8, 1.0, 3.0)]
    assert not guide.is_stuck(trials) and guide.is_stuck([*trials, ended(2, 1e-3, 8, None, 2.0)])


def test_keys_of_methods():
    assert read_search({**SEARCH, "minutes": 5}).options["minutes"] == 5
    with pytest.raises(
        ConfigError, match=r"search\.minutes: only the method per_minute has it, and the method is random"
    ):
        read_search({"method": "random", "trials": 2, "minutes": 5, "space": SPACE})
    with pytest.raises(ConfigError, match=r"search\.startup: only the method tpe and per_minute has it"):
        read_search({"method": "random", "trials": 2, "startup": 5, "space": SPACE})


@pytest.mark.slow
def test_a_search_of_runs_that_log_what_they_take(tmp_path):
    search = {**SEARCH, "trials": 12, "startup": 4, "space": {"lr": {"log_uniform": [1e-5, 0.1]}}}
    folder, made = searched(tmp_path, search, steps=5)
    launcher(folder, [], machine=Machine({"jobs": 1, "cores": 0, "gpus": None}), searcher=made).run()
    trials = folder.trials()
    assert len(trials) == 12 and all(trial.end.state == DONE and trial.end.minutes > 0 for trial in trials)
    best = min(abs(math.log10(trial.settings["lr"] / BEST_RATE)) for trial in trials)
    assert best < 0.15
    # the minutes of four: 0.5 s each
    folder, made = searched(tmp_path, {**search, "minutes": 4 * trials[0].end.minutes}, "short", steps=5)
    launcher(folder, [], machine=Machine({"jobs": 1, "cores": 0, "gpus": None}), searcher=made).run()
    assert len(folder.trials()) == 4
