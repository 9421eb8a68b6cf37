"""The PettingZoo wrapper on environments that do what few do: masks, deaths, early cuts."""

import sys
from types import ModuleType

import numpy as np
import pytest
from gymnasium import spaces

from envs.pettingzoo import PettingZooEnv
from utils.errors import ConfigError


class Parade:
    """Three agents of unequal sizes. "b" dies in step 2; "c" leaves it to its info what it can do."""

    def __init__(self, end="terminate", cut=4, continuous=False, with_state=False):
        self.end, self.cut, self.continuous = end, cut, continuous
        self.possible_agents = ["a", "b", "c"]
        if with_state:
            self.state = lambda: np.array([self.t, 42.0])

    def observation_space(self, agent):
        if agent == "a":
            mask = spaces.Box(0, 1, (2,), np.int8)
            return spaces.Dict({"observation": spaces.Box(-1, 1, (2, 2)), "action_mask": mask})
        return spaces.Discrete(3) if agent == "b" else spaces.Box(-9, 9, (1,))

    def action_space(self, agent):
        if self.continuous:
            return spaces.Box(-1, 1, (2,))
        return spaces.Discrete({"a": 2, "b": 4, "c": 3}[agent])

    def _seen(self, agents):
        obs = {
            "a": {"observation": np.full((2, 2), 0.5), "action_mask": np.array([0, 1])},
            "b": 1,
            "c": np.array([self.t], dtype=np.float32),
        }
        infos = {"a": {}, "b": {}, "c": {"action_mask": np.array([1, 0, 1])}}
        return {a: obs[a] for a in agents}, {a: infos[a] for a in agents}

    def reset(self, seed=None, options=None):
        self.seed, self.t, self.agents, self.given = seed, 0, list(self.possible_agents), []
        return self._seen(self.agents)

    def step(self, actions):
        self.given.append(actions)
        self.t += 1
        acted = list(self.agents)
        obs, infos = self._seen(acted)
        over = self.t >= self.cut
        dead = {a: (a == "b" and self.t == 2) or (over and self.end == "terminate") for a in acted}
        cut = {a: over and self.end == "truncate" and not dead[a] for a in acted}
        self.agents = [a for a in acted if not (dead[a] or cut[a])]
        return obs, {a: {"a": 1.0, "b": 10.0, "c": 100.0}[a] * self.t for a in acted}, dead, cut, infos

    def close(self):
        pass


@pytest.fixture(autouse=True)
def parade_module(monkeypatch):
    package, module = ModuleType("parades"), ModuleType("parades.parade_v0")
    package.__path__ = []
    module.parallel_env = Parade
    package.parade_v0 = module
    monkeypatch.setitem(sys.modules, "parades", package)
    monkeypatch.setitem(sys.modules, "parades.parade_v0", module)


def make(time_limit=10, reward="sum", **kwargs):
    env = PettingZooEnv(key="parades.parade_v0", time_limit=time_limit, kwargs=kwargs, reward=reward, seed=5)
    env.reset()
    return env


def test_unequal_agents_are_padded():
    env = make()
    info = {"state_shape": 12, "obs_shape": 4, "n_actions": 4, "n_agents": 3, "episode_limit": 10}
    assert env.get_env_info() == info
    assert env.get_obs().tolist() == [[0.5] * 4, [0, 1, 0, 0], [0, 0, 0, 0]]
    assert env.get_avail_actions().tolist() == [[0, 1, 0, 0], [1, 1, 1, 1], [1, 0, 1, 0]]
    assert env.get_state().tolist() == env.get_obs().flatten().tolist()


def test_an_own_state_is_used():
    env = make(with_state=True)
    env.step([1, 0, 0])
    assert env.get_state().tolist() == [1, 42]
    assert env.get_state_size() == 2


def test_an_agent_that_died():
    env = make()
    assert env.step([1, 3, 2]) == (111.0, False, {"episode_limit": False})
    assert env.step([1, 3, 2]) == (222.0, False, {"episode_limit": False})
    assert env.get_avail_actions()[1].tolist() == [1, 0, 0, 0], "dead: action 0 and nothing else"
    assert env.get_obs()[1].tolist() == [0, 1, 0, 0], "what it saw last is what the environment says it saw"
    assert env.step([1, 0, 2]) == (303.0, False, {"episode_limit": False})
    assert env.get_obs()[1].tolist() == [0, 0, 0, 0]
    assert env._env.given[1] == {"a": 1, "b": 3, "c": 2}
    assert env._env.given[2] == {"a": 1, "c": 2}, "the dead are not passed on"


@pytest.mark.parametrize(("end", "truncated"), [("terminate", False), ("truncate", True)])
def test_ends_of_the_environments_own(end, truncated):
    """EPyMARL drops the last reward and observation."""
    env = make(end=end)
    for _ in range(3):
        assert not env.step([1, 0, 0])[1]
    assert env.step([1, 0, 0]) == (404.0, True, {"episode_limit": truncated})
    assert env.get_obs()[2].tolist() == [4, 0, 0, 0]
    legal = [[0, 1, 0, 0], [1, 0, 0, 0], [1, 0, 1, 0]] if truncated else [[1, 0, 0, 0]] * 3
    assert env.get_avail_actions().tolist() == legal, "values continue after a cut, so actions stay legal"


def test_our_time_limit_truncates():
    env = make(time_limit=3)
    assert [env.step([1, 0, 0])[1:] for _ in range(3)][-1] == (True, {"episode_limit": True})
    assert env.get_avail_actions()[0].tolist() == [0, 1, 0, 0]


def test_rewards_can_be_averaged_over_all_agents():
    env = make(reward="mean")
    assert env.step([1, 0, 0])[0] == pytest.approx(37)


def test_the_seed_is_given_to_the_first_reset_only():
    env = make()
    assert env._env.seed == 5
    env.reset()
    assert env._env.seed is None


def test_arguments_reach_the_environment():
    from mpe2 import simple_spread_v3

    assert PettingZooEnv(kwargs={"N": 4}).n_agents == 4
    env = PettingZooEnv(time_limit=7)
    env.reset()
    ends = [env.step([0, 0, 0])[1:] for _ in range(7)]
    assert ends == [(False, {"episode_limit": False})] * 6 + [(True, {"episode_limit": True})]
    # rewards are the environment's own
    theirs = simple_spread_v3.parallel_env(max_cycles=25)
    theirs.reset(seed=3)
    ours = PettingZooEnv(seed=3)
    ours.reset()
    for _ in range(3):
        _, rewards, _, _, _ = theirs.step(dict.fromkeys(theirs.agents, 1))
        assert ours.step([1, 1, 1])[0] == pytest.approx(sum(rewards.values()))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"kwargs": {"continuous": True}}, "only Discrete"),
        ({"key": "mpe2.simple_spread_v3", "kwargs": {"N": -3, "local_ratio": 0.5}}, "be made with N=-3: "),
        ({"kwargs": {"endd": 1}}, "takes no 'endd'.* Did you mean 'end'"),
        ({"reward": "max"}, "Allowed: mean, sum"),
        ({"time_limit": 0}, "time_limit is 0"),
        ({"key": "envs.two_step"}, "no parallel_env"),
        ({"key": "parades.parade_v9"}, "no module 'parades.parade_v9'"),
        ({"key": "no_such_package.game"}, "package 'no_such_package', which is not installed"),
    ],
)
def test_arguments_that_do_not_fit(changes, message):
    with pytest.raises(ConfigError, match=message):
        PettingZooEnv(**{"key": "parades.parade_v0", **changes})
