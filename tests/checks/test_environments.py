"""`common_reward: False` asks an environment for a reward for each agent, by the environment's own argument."""

import pytest

from checks import check_config
from cli.compose import compose_config
from envs import REGISTRY, MultiAgentEnv
from utils.config.registry import Entry
from utils.errors import ConfigError


def env_args_of(environment, **changes):
    config = compose_config("iql", environment).config
    return check_config({**config, **changes})["env_args"]


@pytest.mark.parametrize("environment", ["lbf", "mpe"])
def test_environments_that_have_such_rewards(environment):
    assert env_args_of(environment)["reward"] == "sum"
    assert env_args_of(environment, common_reward=False)["reward"] == "each"


def test_environments_that_reward_the_team_only():
    with pytest.raises(ConfigError, match="common_reward=False: the environment 'skirmish' rewards its team only"):
        env_args_of("skirmish", common_reward=False)


class OfEPyMARL(MultiAgentEnv):
    """As EPyMARL's GymmaWrapper names it."""

    def __init__(self, common_reward=True):
        pass


class OfAnyArguments(MultiAgentEnv):
    def __init__(self, **kwargs):
        pass


@pytest.mark.parametrize(("kind", "expected"), [(OfEPyMARL, {"common_reward": False}), (OfAnyArguments, {})])
def test_environments_of_others(monkeypatch, kind, expected):
    monkeypatch.setitem(REGISTRY._entries, "others", Entry(kind, declared=False))
    assert env_args_of("two_step", env="others", env_args={}, common_reward=False) == expected


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("[3m,8m, 5m_vs_6m]", ["3m", "8m", "5m_vs_6m"]),  # as a shell passes it
        ("['3m', \"8m\"]", ["3m", "8m"]),
        (("3m",), ["3m"]),
        ("3m", "3m"),
    ],
)
def test_lists_of_maps(given, expected):
    env_args = compose_config("iql", "skirmish").config["env_args"] | {"map_name": given, "observation": "entities"}
    assert env_args_of("skirmish", env_args=env_args)["map_name"] == expected


def test_arguments_that_are_no_list():
    env_args = compose_config("iql", "skirmish").config["env_args"] | {"difficulty": ["7"]}
    with pytest.raises(ConfigError, match=r"env_args.difficulty=\['7'\]: expected text"):
        env_args_of("skirmish", env_args=env_args)
