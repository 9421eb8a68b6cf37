"""A few hundred steps of training on each family of other packages, where it is installed.

Run it in an environment that has the package: `python -m pytest tests/integration/test_families.py -rs`.
"""

import pytest

from envs.families import FAMILIES
from small_training import train
from watched_training import assert_learnt

# continuous actions, pictures, and those that both are not for
ALGORITHMS = {
    "PettingZoo sisl": ("mappo", {}),
    "PettingZoo butterfly": ("mappo", {"agent": "cnn", "env_args": {"kwargs": {"n_pistons": 3}}}),
    "multi-agent MuJoCo": ("mappo", {"env_args": {"kwargs": {"scenario": "HalfCheetah", "agent_conf": "2x3"}}}),
    "MuJoCo": ("ppo", {}),
    "Box2D": ("ppo", {"agent": "cnn"}),
    "Atari": ("ppo", {"agent": "cnn"}),
    "dm_control": ("ppo", {}),
    "JaxMARL: MABrax": ("mappo", {}),
    "MiniGrid": ("ppo", {"agent": "cnn", "env_args": {"words": 12}}),
}
# those whose copies are one batch, by an algorithm that learns from pieces of episodes
IN_ONE = {
    "VMAS": "pqn_vdn",
    "EnvPool": "ppo",
    "JaxMARL: SMAX": "pqn_vdn",
    "JaxMARL: MABrax": "ppo",
    "Jumanji": "pqn_vdn",
}
# games that are started, and those whose rewards have to be wrapped
LEFT_OUT = ("SMAC", "SMACv2", "MOMAland", "PettingZoo atari")


def env_args_of(family, **more):
    name, _, value = family.key.partition("=")
    return {name: value, "time_limit": 20, **more}


@pytest.mark.slow
@pytest.mark.parametrize("family", [one for one in FAMILIES if one.title not in LEFT_OUT], ids=lambda one: one.title)
def test_it_trains(tmp_path, monkeypatch, family):
    if not family.installed():
        pytest.skip(f"not installed: {family.install}")
    algorithm, changes = ALGORITHMS.get(family.title, ("iql", {}))
    env_args = env_args_of(family, **changes.get("env_args", {}))
    config = {**changes, "env_args": env_args, "runner": "episode", "t_max": 100}
    assert_learnt(train(tmp_path, monkeypatch, algorithm, family.door, **config), 3)


@pytest.mark.slow
@pytest.mark.parametrize("family", [one for one in FAMILIES if one.title in IN_ONE], ids=lambda one: one.title)
def test_copies_train_as_one_batch(tmp_path, monkeypatch, family):
    if not family.installed():
        pytest.skip(f"not installed: {family.install}")
    config = {"runner": "rollout", "rollout_steps": 8, "batch_size_run": 4, "vector_env": "batched", "epochs": 1}
    updates = train(
        tmp_path, monkeypatch, IN_ONE[family.title], family.door, **config, minibatches=1, env_args=env_args_of(family)
    )
    assert_learnt(updates, 3)
