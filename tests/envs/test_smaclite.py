"""SMAClite's battles, on a stand-in for the package."""

import sys

import numpy as np
import pytest

import smaclite_standin
from envs.small.smaclite import SMAClite
from small_training import UPDATES, train
from utils.errors import ConfigError
from watched_training import assert_learnt


@pytest.fixture(autouse=True)
def package(monkeypatch):
    monkeypatch.setitem(sys.modules, "smaclite", smaclite_standin)


def test_it_has_smacs_contract(capsys):
    env = SMAClite("3s5z", time_limit=9, seed=4)
    assert capsys.readouterr().out == ""
    assert env.get_env_info() == {"state_shape": 3, "obs_shape": 2, "n_actions": 4, "n_agents": 2, "episode_limit": 9}
    env.reset()
    assert env.get_avail_actions().tolist() == [[0, 1, 1, 1]] * 2
    assert env.step(np.array([3, 1])) == (1.0, False, {"battle_won": False, "episode_limit": False})
    assert (env.get_state().tolist(), env.get_state().dtype) == ([1, 1, 1], np.float32)
    assert env.get_obs_agent(1).tolist() == pytest.approx([1 / 3] * 2)
    assert env.step([3, 3]) == (3.0, True, {"battle_won": True, "episode_limit": False})
    env.reset()
    assert env._env.seeds == [4, 4, None], "later episodes continue with the generator"


def test_time_that_is_up_truncates_unless_the_battle_has_ended():
    env = SMAClite("MMM", time_limit=2)
    env.reset()
    assert [env.step([1, 1])[1:] for _ in range(2)][-1] == (True, {"battle_won": False, "episode_limit": True})
    env.reset()
    assert [env.step([3, 3])[1:] for _ in range(2)][-1] == (True, {"battle_won": True, "episode_limit": False})


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"map_name": None}, "map_name is missing. Allowed: 3s5z, MMM, corridor"),
        ({"map_name": "custom"}, "map_name is 'custom'"),
        ({"map_name": "3s5s"}, "Did you mean '3s5z'"),
        ({"time_limit": 0}, "time_limit is 0"),
        ({"use_cpp_rvo2": True}, r"use_cpp_rvo2=True needs the package 'rvo2'.*Install it with: pip install git\+"),
    ],
)
def test_what_cannot_be_played_is_refused_before_a_run(words, message):
    with pytest.raises(ConfigError, match=message):
        SMAClite.check_args(**words)


def test_without_the_package_the_error_says_how_to_install_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "smaclite", None)
    with pytest.raises(ConfigError, match=r"needs the package 'smaclite'.*github.com/uoe-agents/smaclite.*rtree>=1.3"):
        SMAClite.check_args(map_name="MMM")


def test_it_trains(tmp_path, monkeypatch):
    changes = {"env_args": {"map_name": "MMM", "time_limit": 6, "use_cpp_rvo2": False}}
    assert_learnt(train(tmp_path, monkeypatch, "qmix", "smaclite", **changes), UPDATES)
