"""Many copies of VMAS's scenarios as one batch, on a stand-in for the package."""

import sys

import numpy as np
import pytest

import vmas_standin
from envs import has_batched_form
from envs.pettingzoo.gymma import Gymma, batch
from small_training import UPDATES, train
from utils.errors import ConfigError
from watched_training import assert_learnt

KEY = "vmas-balance"


@pytest.fixture(autouse=True)
def package(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "vmas", vmas_standin.package(tmp_path))


def test_a_batch_has_the_sizes_and_masks_of_the_single_one():
    one, many = Gymma(key=KEY, time_limit=7), batch(4, KEY, time_limit=7)
    assert many.get_env_info() == one.get_env_info()
    one.reset()
    many.reset()
    seen = many.observed()
    assert seen["avail_actions"][2].tolist() == np.asarray(one.get_avail_actions()).tolist()
    np.testing.assert_array_equal(seen["obs"][0], one.get_obs())
    np.testing.assert_array_equal(seen["state"][0], one.get_state())


@pytest.mark.parametrize(("reward", "paid"), [("sum", 3.0), ("mean", 1.5)])
def test_a_copy_that_ends_stays_as_it_is_until_it_is_reset(reward, paid):
    many = batch(3, KEY, time_limit=2, reward=reward, seed=[5, 6, 7])
    assert vmas_standin.SEEDS[-1] == 5
    many.reset()
    rewards, ended, truncated = many.step(np.array([[1, 1], [0, 0], [0, 0]]))
    assert (rewards.tolist(), ended.tolist(), truncated.tolist()) == ([paid, 0, 0], [True, False, False], [False] * 3)
    before = many.observed()["obs"][0].copy()
    _, ended, truncated = many.step(np.array([[1, 1], [0, 0], [0, 2]]))
    assert (ended.tolist(), truncated.tolist()) == ([True] * 3, [False, True, True]), "time is up"
    assert many.info(1) == {"episode_limit": True}
    assert many.observed()["obs"][0].tolist() == before.tolist() == [[3, 0], [3, 1]]
    many.reset(np.array([False, False, True]))
    assert many.observed()["obs"][0].tolist() == before.tolist()
    many.reset(np.array([True, False, True]))
    assert many.observed()["obs"][:, 1].tolist() == [[0, 0], [0.5, 2], [1, 0]]
    _, ended, _ = many.step(np.zeros((3, 2), int))
    assert ended.tolist() == [False, True, False]


def test_an_end_of_the_game_at_the_last_step_is_no_cut():
    many = batch(2, KEY, time_limit=1)
    many.reset()
    _, ended, truncated = many.step(np.array([[1, 1], [0, 0]]))
    assert (ended.tolist(), truncated.tolist()) == ([True, True], [False, True])


@pytest.mark.parametrize(
    ("words", "batched"),
    [
        ({}, True),
        ({"reward": "mean"}, True),
        ({"reward": "each"}, False),
        ({"continuous_actions": True}, False),
        ({"key": "pz-mpe-simple-spread-v3", "compiled": False}, False),
    ],
)
def test_which_games_are_stepped_as_a_batch(words, batched):
    assert has_batched_form("gymma", {"key": KEY, **words}) == batched


def test_without_the_package_there_is_none(monkeypatch):
    monkeypatch.setitem(sys.modules, "vmas", None)
    assert not has_batched_form("gymma", {"key": KEY})


def test_an_unknown_scenario_is_refused():
    with pytest.raises(ConfigError, match=r"VMAS has no scenario 'balanse'. Did you mean 'balance'"):
        batch(2, "vmas-balanse")


def test_it_trains(tmp_path, monkeypatch):
    changes = {
        "env_args": {"key": KEY, "time_limit": 5},
        "batch_size_run": 2,
        "vector_env": "batched",
        "runner": "episodes",
    }
    assert_learnt(train(tmp_path, monkeypatch, "vdn", "gymma", **changes), UPDATES)
