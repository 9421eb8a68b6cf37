"""Level-based foraging: ends, rewards and what ends mean."""

import numpy as np
import pytest

from envs.lbf import LevelBasedForaging

LOAD = 5


def _beside_the_food(env):
    """Put all agents next to the only food, together strong enough."""
    inner = env._env
    row, col = np.argwhere(inner.field)[0]
    for player, (dr, dc) in zip(inner.players, [(-1, 0), (1, 0), (0, -1), (0, 1)], strict=False):
        player.position = (row + dr, col + dc)
        player.level = 2
    inner._gen_valid_moves()


@pytest.mark.parametrize("time_limit", [3, 50, 80])
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


def test_eating_in_the_last_step_terminates():
    env = LevelBasedForaging(key="Foraging-5x5-2p-1f-v3", time_limit=1, seed=1)
    env.reset()
    _beside_the_food(env)
    assert env.step([LOAD, LOAD])[1:] == (True, {"episode_limit": False})
