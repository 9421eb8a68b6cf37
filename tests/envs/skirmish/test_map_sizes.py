"""The sizes of all maps, and the order of their units, as in SMAC and SMACv2."""

import pytest

from envs.skirmish.environment import SkirmishEnv
from envs.skirmish.maps import map_names

# agents, enemies, limit, actions, obs, state, sum of rewards of a victory before scaling
SIZES = {
    "3m": (3, 3, 60, 9, 30, 48, 365),
    "8m": (8, 8, 120, 14, 80, 168, 640),
    "25m": (25, 25, 150, 31, 250, 950, 1575),
    "5m_vs_6m": (5, 6, 70, 12, 55, 98, 530),
    "8m_vs_9m": (8, 9, 120, 15, 85, 179, 695),
    "10m_vs_11m": (10, 11, 150, 17, 105, 243, 805),
    "27m_vs_30m": (27, 30, 180, 36, 285, 1170, 1850),
    "MMM": (10, 10, 150, 16, 160, 290, 1015),
    "MMM2": (10, 12, 180, 18, 176, 322, 1205),
    "2s3z": (5, 5, 120, 11, 80, 120, 1020),
    "3s5z": (8, 8, 150, 14, 128, 216, 1510),
    "3s5z_vs_3s6z": (8, 9, 170, 15, 136, 230, 1670),
    "3s_vs_3z": (3, 3, 150, 9, 36, 54, 680),
    "3s_vs_4z": (3, 4, 200, 10, 42, 61, 840),
    "3s_vs_5z": (3, 5, 250, 11, 48, 68, 1000),
    "1c3s5z": (9, 9, 180, 15, 162, 270, 1870),
    "2m_vs_1z": (2, 1, 150, 7, 16, 26, 360),
    "corridor": (6, 24, 400, 30, 156, 282, 1280),
    "6h_vs_8z": (6, 8, 150, 14, 78, 140, 1480),
    "2s_vs_1sc": (2, 1, 300, 7, 17, 27, 510),
    "so_many_baneling": (7, 32, 100, 38, 202, 397, 1480),
    "bane_vs_bane": (24, 24, 200, 30, 336, 984, 1260),
    "2c_vs_64zg": (2, 64, 400, 70, 332, 342, 3080),
}


def test_all_maps():
    assert set(map_names()) == {*SIZES, "10gen_terran", "10gen_protoss", "10gen_zerg"}


@pytest.mark.parametrize("name", SIZES)
def test_sizes_are_smacs(name):
    """As `smac` computes them for its default arguments."""
    env = SkirmishEnv(map_name=name, seed=0)
    env.reset()
    info = env.get_env_info()
    found = (info["n_agents"], env.n_enemies, info["episode_limit"], info["n_actions"])
    found += (info["obs_shape"], info["state_shape"], env.batch.simulator.state.battle["max_reward"][0])
    assert found == SIZES[name]
    assert len(env.get_obs_feature_names()) == info["obs_shape"]
    assert len(env.get_state_feature_names()) == info["state_shape"]


@pytest.mark.parametrize(
    ("name", "units", "enemies", "sizes"),
    [
        ("10gen_terran", 5, 5, (82, 120, 11)),
        ("10gen_zerg", 5, 5, (82, 120, 11)),
        ("10gen_protoss", 5, 5, (92, 130, 11)),
        ("10gen_terran", 10, 11, (170, 306, 17)),
    ],
)
def test_sizes_are_smacv2s(name, units, enemies, sizes):
    """As seen of `smacv2` with its published arguments."""
    env = SkirmishEnv(map_name=name, obs_own_pos=True, use_unit_ranges=True, seed=0)
    config = dict(env.options.capability_config, n_units=units, n_enemies=enemies)
    env = SkirmishEnv(map_name=name, obs_own_pos=True, use_unit_ranges=True, seed=0, capability_config=config)
    info = env.get_env_info()
    assert (info["obs_shape"], info["state_shape"], info["n_actions"]) == sizes
    assert info["cap_shape"] == 3
    assert info["episode_limit"] == 200
    env.reset()
    types = env.get_capabilities().reshape(units, 3)
    assert types.sum(1).tolist() == [1] * units
