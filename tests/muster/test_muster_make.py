"""`muster.make`: Muster's environments pass the tests of PettingZoo and Gymnasium."""

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from pettingzoo.test import parallel_api_test

import muster

FAMILIES = {
    "skirmish": {"map_name": "3m"},
    "lbf": {},
    "rware": {},
    "mpe": {},
    "particles": {},
    "matrix": {},
    "two_step": {},
    "overcooked": {},
    "racing": {"n_cars": 2, "time_limit": 30},
}
ALONE = {"racing": {"time_limit": 40}, "gymnasium": {"key": "CartPole-v1"}}


@pytest.mark.filterwarnings("error:.*(Live agent|was dead last turn|No agents present)")
@pytest.mark.parametrize("family", FAMILIES)
def test_several_agents_are_a_parallel_environment(family):
    env = muster.make(family, **FAMILIES[family])
    parallel_api_test(env, num_cycles=40)
    obs, _ = env.reset(seed=3)
    for agent in env.agents:
        assert env.observation_space(agent).contains(obs[agent]), agent
    env.close()


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("family", ALONE)
def test_one_agent_is_an_environment_of_gymnasium(family):
    env = muster.make(family, **ALONE[family])
    assert isinstance(env, gymnasium.Env)
    check_env(env, skip_render_check=True)
    env.close()


@pytest.mark.parametrize("family", ["skirmish", "matrix", "mpe", "racing", "gymnasium"])
def test_many_copies_step_together_and_begin_again(family):
    envs = muster.make(family, num_envs=3, **{**FAMILIES, **ALONE}[family])
    obs, infos = envs.reset(seed=1)
    ends = 0
    for _ in range(130):
        assert envs.observation_space.contains(obs)
        obs, rewards, terminated, truncated, infos = envs.step(envs.action_space.sample())
        ended = terminated | truncated
        ends += int(ended.sum())
        if ended.any():
            assert infos["_final_obs"].tolist() == ended.tolist()
            assert len(infos["final_info"]["episodes"]) == ended.sum()
    assert rewards.shape == (3,) and ends > 0
    envs.close()


def test_a_seed_gives_the_same_episodes_and_copies_have_their_own():
    envs = [muster.make("lbf", num_envs=3) for _ in range(2)]
    first, second = (one.reset(seed=5)[0] for one in envs)
    assert np.array_equal(first, second)
    assert not np.array_equal(first[0], first[1])
    assert not np.array_equal(envs[0].reset(seed=6)[0], first)
    single = muster.make("lbf")
    obs, _ = single.reset(seed=5)
    assert np.array_equal(np.stack([obs[agent]["observation"] for agent in single.agents]), first[0])


def test_illegal_actions_are_replaced_or_refused():
    actions = {"marine_0": 0, "marine_1": 8, "marine_2": 1}  # the living may not do nothing, nor shoot far away
    env = muster.make("skirmish", map_name="3m")
    env.reset(seed=1)
    env.step(actions)
    env = muster.make("skirmish", map_name="3m", num_envs=1, illegal_actions="error")
    env.reset(seed=1)
    with pytest.raises(muster.ConfigError, match=r"the action 0 of agent 0 is illegal\. Legal: 1"):
        env.step(np.array([[0, 1, 1]]))


def test_pictures_are_drawn_if_they_are_asked_for():
    for family, arguments in (("racing", {}), ("skirmish", {"map_name": "3m"}), ("lbf", {})):
        env = muster.make(family, render_mode="rgb_array", **arguments)
        env.reset(seed=1)
        picture = env.render()
        assert picture.dtype == np.uint8 and picture.ndim == 3 and len(np.unique(picture)) > 1
    assert muster.make("lbf").render() is None


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("skirmis", {}, "Did you mean 'skirmish'"),
        ("skirmish", {"map_nam": "3m"}, "Did you mean 'map_name'"),
        ("matrix", {"gam": "climbing"}, "Did you mean 'game'"),
        ("lbf", {"num_envs": 0}, "num_envs=0: it must be a whole number"),
        ("lbf", {"render_mode": "human"}, "render_mode=human"),
        ("lbf", {"illegal_actions": "eror"}, "Did you mean 'error'"),
    ],
)
def test_what_cannot_be_made_is_refused(name, arguments, message):
    with pytest.raises(muster.ConfigError, match=message):
        muster.make(name, **arguments)
