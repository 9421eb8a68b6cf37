"""The settings of a recorded config that reach beyond its results, and the words that allow them."""

import pytest

from checks.recorded import CODE, as_words, reaching, require_named
from envs import REGISTRY as environments
from utils.config import default_config
from utils.errors import ConfigError

PLAIN = {**default_config(), "env": "two_step", "env_args": {}}


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, {}),
        ({"plugins": "own.py"}, {"plugins": ["own.py"]}),
        ({"plugins": ["a.py", "b"]}, {"plugins": ["a.py", "b"]}),
        ({"mongo_url": "mongodb://else/where"}, {"mongo_url": "mongodb://else/where"}),
        ({"mlflow_uri": "http://else"}, {}),  # not used
        ({"use_mlflow": True}, {}),  # into files among the results
        ({"use_mlflow": True, "mlflow_uri": "http://else"}, {"mlflow_uri": "http://else"}),
        ({"use_wandb": True}, {}),
        ({"use_wandb": True, "wandb_mode": "online"}, {"wandb_mode": "online"}),
        ({"env": "mpe", "env_args": {"key": "mpe2.simple_spread_v3"}}, {}),
        ({"env": "mpe", "env_args": {"key": "mpe2evil.simple"}}, {"env_args.key": "mpe2evil.simple"}),
        ({"env": "pettingzoo", "env_args": {"key": "evil"}}, {"env_args.key": "evil"}),
        ({"env": "entities", "env_args": {"environment": "MineSweeper"}}, {}),
        ({"env": "entities", "env_args": {"environment": "gymnasium:CartPole-v1"}}, {}),
        (
            {"env": "entities", "env_args": {"environment": "gymnasium:evil:A-v1"}},
            {"env_args.environment": "gymnasium:evil:A-v1"},
        ),
        ({"env": "entities", "env_args": {"environment": "evil.py:A"}}, {"env_args.environment": "evil.py:A"}),
        ({"env": "lbf", "env_args": {"key": "Foraging-5x5-2p-1f-v3"}}, {}),
        ({"env": "sc2", "env_args": {"replay_dir": "/else"}}, {"env_args.replay_dir": "/else"}),
        ({"env": "unknown", "env_args": None}, {}),
        ({"env": ["odd"], "plugins": None}, {}),
    ],
)
def test_settings_that_reach_beyond_the_results(changes, expected):
    assert reaching({**PLAIN, **changes}) == expected


def test_settings_are_named_one_by_one():
    settings = {"plugins": ["my own.py"], "mongo_url": "mongodb://host/x"}
    with pytest.raises(ConfigError, match=r"mongo_url=mongodb://host/x\. .* with mongo_url=mongodb://host/x$"):
        require_named(settings, lambda key: key == "plugins")
    with pytest.raises(ConfigError, match=r"plugins=\[\] for none"):
        require_named(settings, lambda key: False)
    require_named(settings, lambda key: True)
    assert as_words(settings) == """'plugins=["my own.py"]' mongo_url=mongodb://host/x"""


def test_every_argument_that_imports_counts_as_code():
    """watch.py and play.py ask for these to be named."""
    importing = {
        entry.traits["imports"] for entry in map(environments.entry, environments) if "imports" in entry.traits
    }
    assert set(CODE) == {"plugins", *(f"env_args.{key}" for key in importing)}
