"""Level-based foraging: ends, rewards and what ends mean."""

import numpy as np
import pytest

from envs.contract.declarations import spec_of
from envs.small.lbf import Foraging, LevelBasedForaging
from utils.errors import ConfigError

LOAD = 5


def _beside_the_food(env):
    """Put all agents next to the only food, together strong enough."""
    inner = env._env
    row, col = np.argwhere(inner.field)[0]
    for player, (dr, dc) in zip(inner.players, [(-1, 0), (1, 0), (0, -1), (0, 1)], strict=False):
        player.position = (row + dr, col + dc)
        player.level = 2
    inner._gen_valid_moves()


@pytest.mark.parametrize("time_limit", [1, 3, 50, 80])
def test_eating_everything_terminates_and_pays_one(time_limit):
    env = LevelBasedForaging(key="Foraging-5x5-2p-1f-v3", time_limit=time_limit, seed=1)
    env.reset()
    _beside_the_food(env)
    reward, ended, info = env.step([LOAD, LOAD])
    assert ended
    assert reward == pytest.approx(1.0)
    assert info == {"episode_limit": False}


@pytest.mark.parametrize("time_limit", [3, 50, 80])
def test_time_that_is_up_truncates(time_limit):
    """EPyMARL stores such ends as terminal. The package's own limit of 50 does not come in between."""
    env = LevelBasedForaging(key="Foraging-5x5-2p-1f-v3", time_limit=time_limit, seed=1)
    for _ in range(2):
        env.reset()
        for step in range(time_limit):
            reward, ended, info = env.step([0, 0])
            assert ended == (step == time_limit - 1)
        assert info == {"episode_limit": True}
        assert reward == 0


def test_a_reward_for_each_agent():
    """Of levels 2 and 1 beside food that takes both, the package pays two thirds and one third."""
    env = Foraging(key="Foraging-5x5-2p-1f-v3", time_limit=5, reward="each", seed=1)
    spec = spec_of(env)
    assert spec.fields["reward"].group == "agents"
    assert spec.env_info["n_agents"] == 2
    env.reset()
    _beside_the_food(env.game)
    env.game._env.players[1].level = 1
    seen = env.observe()
    assert {key: value.shape for key, value in seen.items()} == {
        path: spec.array_shape(path, 1)[1:] for path in ("obs", "state", "avail_actions")
    }
    outcomes, terminated, truncated, info = env.step({"actions": np.array([LOAD, LOAD])})
    assert outcomes["reward"].tolist() == pytest.approx([2 / 3, 1 / 3])
    assert (terminated, truncated, info) == (True, False, {})
    env.reset()
    for step in range(5):
        outcomes, terminated, truncated, _ = env.step({"actions": np.zeros(2, dtype=int)})
        assert (terminated, truncated) == (False, step == 4)
        assert outcomes["reward"].tolist() == [0, 0]


def test_rewards_are_those_of_the_team_or_of_each_agent():
    assert type(Foraging()) is LevelBasedForaging
    with pytest.raises(ConfigError, match=r"env_args.reward is 'ech'. Did you mean 'each'"):
        Foraging.check_args(reward="ech")
