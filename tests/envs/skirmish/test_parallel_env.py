"""PettingZoo's own tests, and the same battle as everywhere else."""

import warnings

import numpy as np
import pytest
from pettingzoo.test import parallel_api_test, parallel_seed_test

from envs.skirmish.environment import SkirmishEnv
from envs.skirmish.pettingzoo import parallel_env
from utils.errors import ConfigError

MAPS = ["3m", "MMM", "2s3z", "10gen_terran"]


@pytest.mark.parametrize("name", MAPS)
def test_pettingzoos_tests(name):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        parallel_api_test(parallel_env(map_name=name), num_cycles=300)
        parallel_seed_test(lambda: parallel_env(map_name=name), num_cycles=60)


@pytest.mark.parametrize("name", MAPS)
def test_it_is_the_battle_of_the_other_interface(name):
    env, other = parallel_env(map_name=name), SkirmishEnv(map_name=name, seed=3)
    rng = np.random.default_rng(0)
    observations, _ = env.reset(seed=3)
    for _ in range(2):
        other.reset()
        everyone = list(env.possible_agents)
        assert env.agents == everyone
        ended = False
        while not ended:
            masks = other.get_avail_actions()
            actions = [rng.choice(np.flatnonzero(mask)) for mask in masks]
            living = {agent: action for agent, action in zip(everyone, actions, strict=True) if agent in env.agents}
            observations, rewards, terminated, truncated, infos = env.step(living)
            reward, ended, info = other.step(actions)
            assert set(rewards.values()) == {reward}
            assert all(got.items() >= info.items() for got in infos.values())
            obs, avail = other.get_obs(), other.get_avail_actions()
            for agent, seen in observations.items():
                i = everyone.index(agent)
                np.testing.assert_array_equal(seen["observation"], obs[i])
                np.testing.assert_array_equal(seen["action_mask"], avail[i])
                assert terminated[agent] or truncated[agent] or avail[i][0] == 0
            np.testing.assert_array_equal(env.state(), other.get_state())
            assert ended == (env.agents == [])
        observations, _ = env.reset()


def test_time_runs_out_for_all():
    env = parallel_env(map_name="2s_vs_1sc")
    env.reset(seed=0)
    for _ in range(300):
        assert env.agents == ["stalker_0", "stalker_1"]
        _, _, terminated, truncated, _ = env.step(dict.fromkeys(env.agents, 1))
    assert list(truncated.values()) == [True, True]
    assert list(terminated.values()) == [False, False]
    assert env.agents == []


def test_actions_are_checked():
    env = parallel_env(map_name="MMM", render_mode="rgb_array")
    env.reset(seed=0)
    assert env.possible_agents[:3] == ["marauder_0", "marauder_1", "marine_0"]
    assert env.possible_agents[-1] == "medivac_0"
    with pytest.raises(ValueError, match="medivac_0"):
        env.step(dict.fromkeys(env.agents[:-1], 1))
    env.step(dict.fromkeys(env.agents, 6))
    assert set(env._battles.state.units["last_action"][0, :10]) == {1, 6}, "those who could not heal stopped"
    strict = parallel_env(map_name="MMM", illegal_actions="error")
    strict.reset(seed=0)
    with pytest.raises(ValueError, match="Agent 0 of battle 0 cannot take action 6"):
        strict.step(dict.fromkeys(strict.agents, 6))
    with pytest.raises(ConfigError, match="stop, error"):
        parallel_env(map_name="MMM", illegal_actions="ignore")
    assert env.render().shape[2] == 3
    assert parallel_env(map_name="3m").render() is None
