"""The PettingZoo wrapper on environments that do what few do: masks, deaths, early cuts."""

import pytest

from envs.pettingzoo.team import PettingZooEnv
from parades import Parade, install
from utils.errors import ConfigError


@pytest.fixture(autouse=True)
def parade_module(monkeypatch):
    install(monkeypatch, Parade)


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
