"""docs/examples/google_football.py, on a stand-in for the interface of the package gfootball."""

import sys
from types import ModuleType

import numpy as np
import pytest
from gymnasium import spaces

from envs.pettingzoo.gymma import Gymma
from standins import ROOT

KEY = f"{ROOT / 'docs/examples/google_football.py'}:Football"


class Match:
    """In old Gym's form: player i sees i and the last action, and is paid its action; three steps."""

    def __init__(self, n):
        self.n, self.closed = n, False
        self.observation_space = spaces.Box(-1, 20, (2,) if n == 1 else (n, 2))
        self.action_space = spaces.Discrete(19) if n == 1 else spaces.MultiDiscrete([19] * n)

    def _seen(self, actions):
        rows = np.stack([np.arange(self.n), np.reshape(actions, self.n)], axis=1).astype(np.float64)
        return rows[0] if self.n == 1 else rows

    def reset(self):
        self.steps = 0
        return self._seen(np.zeros(self.n))

    def step(self, actions):
        assert self.action_space.contains(actions if self.n == 1 else np.array(actions))
        self.steps += 1
        paid = float(actions) if self.n == 1 else np.float64(actions)
        return self._seen(actions), paid, self.steps == 3, {"score_reward": 1}

    def close(self):
        self.closed = True


@pytest.fixture(autouse=True)
def package(monkeypatch):
    asked = {}

    def create_environment(**words):
        asked.update(words)
        return Match(words["number_of_left_players_agent_controls"])

    for name in ("gfootball", "gfootball.env"):
        monkeypatch.setitem(sys.modules, name, module := ModuleType(name))
    module.create_environment = create_environment
    return asked


@pytest.mark.parametrize("players", [1, 3])
def test_it_is_played_by_gymma(players, package):
    env = Gymma(key=KEY, time_limit=9, players=players, env_name="academy_corner", stacked=True)
    assert package["env_name"] == "academy_corner" and package["stacked"]
    assert env.get_env_info() == {
        "state_shape": 2 * players,
        "obs_shape": 2,
        "n_actions": 19,
        "n_agents": players,
        "episode_limit": 9,
    }
    env.reset()
    actions = [5, 7, 9][:players]
    steps = [env.step(actions) for _ in range(3)]
    assert [reward for reward, *_ in steps] == [sum(actions)] * 3
    assert [ended for _, ended, _ in steps] == [False, False, True]
    assert steps[-1][2] == {"score_reward": 1, "episode_limit": False}
    assert env.get_obs().tolist() == [[i, action] for i, action in enumerate(actions)]
