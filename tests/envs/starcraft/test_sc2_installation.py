"""StarCraft II: what is told when the package is not there, and that it is used when it is."""

import importlib
import sys

import pytest

from checks.environments import check_environment
from envs import REGISTRY
from utils.errors import ConfigError

GOOD = """
class StarCraft2Env:
    n_agents, episode_limit = 3, 60
    def __init__(self, map_name="8m", difficulty="7", step_mul=8, reward_win=200, seed=None):
        self.arguments = (map_name, difficulty, step_mul, reward_win, seed)
"""


@pytest.fixture(autouse=True)
def forget_smac():
    """What a test imports as smac is not what the next one finds."""
    yield
    _forget()


def _forget():
    for name in [name for name in sys.modules if name.split(".")[0] == "smac"]:
        del sys.modules[name]
    importlib.invalidate_caches()


def install(tmp_path, monkeypatch, files):
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    _forget()


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({}, "smac is not installed"),
        ({"smac/__init__.py": ""}, "it is another package"),
        ({"smac.py": ""}, "it is another package"),
        ({"smac/__init__.py": "", "smac/env/__init__.py": "import pysc2_is_missing"}, "cannot be imported: No module"),
        (
            {"smac/__init__.py": "", "smac/env/__init__.py": "raise TypeError('protobuf')"},
            "cannot be imported: protobuf",
        ),
        ({"smac/__init__.py": "", "smac/env/__init__.py": ""}, "cannot be imported"),
    ],
)
def test_what_is_missing_is_told(tmp_path, monkeypatch, files, message):
    install(tmp_path, monkeypatch, files)
    for make in (lambda: REGISTRY["sc2"](), lambda: check_environment({"env": "sc2", "env_args": {}})):
        with pytest.raises(ConfigError, match=message) as error:
            make()
        assert "unrelated optimiser" in str(error.value)
        assert "--env-config=skirmish" in str(error.value)


def test_the_packages_environment_is_used_and_its_arguments_checked(tmp_path, monkeypatch):
    install(tmp_path, monkeypatch, {"smac/__init__.py": "", "smac/env/__init__.py": GOOD})
    config = {"env": "sc2", "env_args": {"map_name": "2s3z", "difficulty": 3, "reward_win": 0.5, "seed": 1}}
    check_environment(config)
    assert config["env_args"]["difficulty"] == "3", "smac looks difficulties up by text"
    assert REGISTRY["sc2"](**config["env_args"]).arguments == ("2s3z", "3", 8, 0.5, 1)
    with pytest.raises(ConfigError, match=r"env_args\.mapname.*Did you mean 'map_name'"):
        check_environment({"env": "sc2", "env_args": {"mapname": "3m"}})
    with pytest.raises(ConfigError, match=r"env_args\.step_mul=fast"):
        check_environment({"env": "sc2", "env_args": {"step_mul": "fast"}})
