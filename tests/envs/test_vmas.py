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
    assert many.info(1) == {"one/paid": 0, "two/paid": 0, "episode_limit": True}
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
        ({"reward": "each"}, True),
        ({"continuous_actions": True}, True),
        ({"key": "pz-mpe-simple-spread-v3", "compiled": False}, False),
    ],
)
def test_which_games_are_stepped_as_a_batch(words, batched):
    assert has_batched_form("gymma", {"key": KEY, **words}) == batched


FORMS = [
    {"reward": "each"},
    {"continuous_actions": True},
    {"continuous_actions": True, "reward": "each"},
    {"multidiscrete_actions": True, "reward": "mean"},
]


def chosen(fields, walks):
    """Actions `[B, n]` of agents that walk or not, as values of the fields of actions."""
    walks, actions = np.asarray(walks), [path for path, field in fields.items() if field.kind == "action"]
    if fields[actions[0]].categorical:
        return {path: walks * (path in ("actions", "actions/0")) for path in actions}
    return {"actions": np.stack([np.where(walks, 1.0, -3.0), walks - 0.5], axis=-1).astype(np.float32)}


@pytest.mark.parametrize("words", FORMS, ids=lambda words: " ".join(words))
def test_other_actions_and_rewards_are_those_of_the_single_one(words):
    one, many = Gymma(key=KEY, time_limit=3, **words), batch(2, KEY, time_limit=3, **words)
    fields = many.fields()
    assert (fields, many.groups, many.episode_limit) == (one.fields(), one.groups, one.episode_limit)
    one.reset()
    many.reset()
    for walks in ([1, 0], [0, 1]):
        acts = chosen(fields, [walks, walks])
        outcomes, *ends, _ = one.step({path: value[0] for path, value in acts.items()})
        found, terminated, truncated = many.step(acts)
        assert [terminated[0], truncated[0]] == ends
        for of_one, of_many in ((outcomes, found), (one.observe(), many.observed())):
            assert {*of_one} == {*of_many}
            for path, value in of_one.items():
                np.testing.assert_array_equal(of_many[path][0], value, err_msg=path)
    assert ends == [True, False]
    assert many.info(0) == {"one/paid": 0.0, "two/paid": 2.0}, "the numbers alone"


def test_agents_of_a_copy_that_ended_have_their_ends_once():
    many = batch(2, KEY, time_limit=2, continuous_actions=True)
    many.reset()
    first = many.step(chosen(many.fields(), [[1, 1], [0, 0]]))[0]
    assert first["agents/terminated"].tolist() == [[True, True], [False, False]]
    assert not first["agents/truncated"].any()
    assert many.info(1) == {}
    then = many.step(chosen(many.fields(), [[1, 1], [0, 0]]))[0]
    assert not then["agents/terminated"].any()
    assert then["agents/truncated"].tolist() == [[False, False], [True, True]]
    assert many.observed()["present"].tolist() == [[False, False], [True, True]]


@pytest.mark.parametrize(("words", "algorithm"), [(FORMS[0], "iql"), (FORMS[1], "mappo")], ids=["iql", "mappo"])
def test_other_actions_and_rewards_train(tmp_path, monkeypatch, words, algorithm):
    changes = {"env_args": {"key": KEY, "time_limit": 5, **words}, "batch_size_run": 2, "vector_env": "batched"}
    changes["runner"] = "rollout" if algorithm == "mappo" else "episodes"
    assert_learnt(train(tmp_path, monkeypatch, algorithm, "gymma", **changes), UPDATES)


def test_what_a_scenario_says_at_the_end_of_an_episode_is_kept():
    one, many = Gymma(key=KEY, time_limit=9), batch(1, KEY, time_limit=9)
    one.reset()
    many.reset()
    info = one.step([1, 1])[2]
    many.step(np.array([[1, 1]]))
    assert {key: float(value) for key, value in info.items() if np.size(value) == 1} == many.info(0)
    assert info["two/paid"] == 2


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
