"""The statistics of runners, on episodes with known figures."""

import math

import numpy as np
import pytest

from fakes import RecordingLogger
from helpers import make_args
from runners.base import BaseRunner


class _Mac:
    class action_selector:
        epsilon = 0.25


def _runner(**changes):
    runner = BaseRunner(make_args(**changes), RecordingLogger())
    runner.mac = _Mac()
    return runner


def test_training_figures_are_means_over_the_episodes_since_the_last_log():
    runner = _runner(runner_log_interval=100)
    runner._record([2.0], [10], [{"battle_won": True}], test_mode=False)
    assert runner.t_env == 10
    assert runner.logger.last() == {
        "return_mean": 2.0,
        "return_std": 0.0,
        "ep_length_mean": 10.0,
        "battle_won_mean": 1.0,
        "epsilon": 0.25,
    }
    runner._record([1.0, 3.0], [40, 50], [{"battle_won": 1}, {"battle_won": 0}], test_mode=False)
    assert len(runner.logger.values["return_mean"]) == 1, "90 steps later nothing is due"
    runner._record([5.0], [30], [{"battle_won": 0}], test_mode=False)
    assert runner.logger.values["return_mean"][-1] == (130, 3.0)
    assert math.isclose(runner.logger.values["return_std"][-1][1], np.std([1.0, 3.0, 5.0]))
    assert runner.logger.values["ep_length_mean"][-1] == (130, 40.0)
    assert math.isclose(runner.logger.values["battle_won_mean"][-1][1], 1 / 3)


def test_a_test_counts_exactly_test_nepisode_episodes_of_the_first_environments():
    runner = _runner(test_nepisode=5, batch_size_run=4, buffer_size=32)
    runner._record([1, 2, 3, 4], [1, 1, 1, 1], [{}] * 4, test_mode=True)
    assert not runner.logger.values
    runner._record([10, 100, 100, 100], [6, 9, 9, 9], [{}] * 4, test_mode=True)
    assert runner.logger.values["test_return_mean"] == [(0, 4.0)]
    assert runner.logger.values["test_ep_length_mean"] == [(0, 2.0)]
    assert runner.t_env == 0, "test steps do not count"
    runner._record([7, 7, 7, 7], [1, 1, 1, 1], [{}] * 4, test_mode=True)
    runner._record([7, 0, 0, 0], [1, 1, 1, 1], [{}] * 4, test_mode=True)
    assert runner.logger.values["test_return_mean"][-1] == (0, 7.0), "the next test starts from nothing"


def test_episodes_whose_environment_crashed_are_in_no_statistic():
    """A won, a lost, a timed-out and a crashed one, side by side."""
    runner = _runner(test_nepisode=4, batch_size_run=4, buffer_size=32, runner_log_interval=1)
    won, lost = {"battle_won": True, "dead_allies": 1}, {"battle_won": False, "dead_allies": 3}
    timeout = {"battle_won": False, "dead_allies": 2, "episode_limit": True}
    crashed = {"crashed": True, "episode_limit": True}
    runner._record([20.0, 4.0, 6.0, 19.0], [10, 20, 60, 5], [won, lost, timeout, crashed], test_mode=False)
    assert runner.t_env == 95, "the steps were played"
    expected = {"return_mean": 10.0, "battle_won_mean": 1 / 3, "dead_allies_mean": 2.0, "ep_length_mean": 30.0}
    expected |= {"episode_limit_mean": 1 / 3, "crashed_episodes": 1}
    assert {key: pytest.approx(value) for key, value in expected.items()}.items() <= runner.logger.last().items()
    runner._record([9.0], [5], [crashed], test_mode=False)
    assert len(runner.logger.values["return_mean"]) == 1, "of nothing but crashed episodes there is nothing to log"

    runner._record([20.0, 9.0, 9.0, 4.0], [10, 1, 1, 20], [won, crashed, crashed, lost], test_mode=True)
    assert runner.test_unfinished, "two more are needed"
    assert "test_return_mean" not in runner.logger.values
    runner._record([9.0, 6.0, 2.0, 100.0], [1, 60, 20, 9], [crashed, timeout, lost, won], test_mode=True)
    assert not runner.test_unfinished
    assert runner.logger.values["test_return_mean"][-1][1] == 8.0
    assert runner.logger.values["test_battle_won_mean"][-1][1] == 0.25


def test_info_may_hold_anything_and_only_numbers_are_averaged():
    info = {
        "won": np.bool_(True),
        "score": np.float32(2.5),
        "array": np.array([3]),
        "text": "map",
        "vector": np.zeros(3),
        "nothing": None,
        "nested": {"a": 1},
        "complex": 1j,
    }
    runner = _runner()
    runner._record([0.0], [1], [info], test_mode=False)
    logged = runner.logger.last()
    assert {key for key in logged if key.endswith("_mean")} == {
        "return_mean",
        "ep_length_mean",
        "won_mean",
        "score_mean",
        "array_mean",
    }
    assert (logged["won_mean"], logged["score_mean"], logged["array_mean"]) == (1.0, 2.5, 3.0)


def test_a_key_that_only_some_infos_have_is_averaged_over_all_episodes():
    """As PyMARL does: what an info does not have counts as 0."""
    runner = _runner(test_nepisode=2)
    runner._record([0.0], [1], [{"won": 1}], test_mode=True)
    runner._record([0.0], [1], [{}], test_mode=True)
    assert runner.logger.last()["test_won_mean"] == 0.5


def test_the_means_of_rare_figures_are_over_the_episodes_that_have_them():
    """A race that was not finished has no time."""
    runner = _runner(test_nepisode=4, batch_size_run=4, buffer_size=32)
    times = [{"time": 30.0, "laps": 1}, {"laps": 0}, {"time": 40.0, "laps": 1}, {"laps": 0}]
    runner._record([0.0] * 4, [1] * 4, [{**info, "only_of": ["time", "other"]} for info in times], test_mode=True)
    figures = {key: values[-1][1] for key, values in runner.logger.values.items()}
    assert (figures["test_time_mean"], figures["test_laps_mean"]) == (35.0, 0.5)
    assert not [key for key in figures if "other" in key or "with" in key]
