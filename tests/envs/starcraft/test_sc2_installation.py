"""StarCraft II: the messages on missing parts, and the package's arguments."""

import importlib
import re
import sys

import pytest

from checks.environments import checked_env_args
from envs import REGISTRY
from envs.starcraft import installation
from utils.errors import ConfigError

GOOD = {
    "smac/__init__.py": "",
    "smac/env/__init__.py": """
class StarCraft2Env:
    n_agents, episode_limit, max_reward = 3, 60, 230
    def __init__(self, map_name="8m", difficulty="7", step_mul=8, reward_win=200, seed=None):
        self.arguments = (map_name, difficulty, step_mul, reward_win, seed)
    def _launch(self):
        pass
""",
    "smac/env/starcraft2/__init__.py": "",
    "smac/env/starcraft2/maps/__init__.py": "",
    "smac/env/starcraft2/maps/smac_maps.py": """
def get_smac_map_registry():
    return {"3m": {}, "8m": {}, "2s3z": {}, "10gen_terran": {"map_name": "32x32_flat"}}
""",
}


@pytest.fixture(autouse=True)
def forget_smac(monkeypatch, tmp_path):
    """The smac that a test imports does not reach the next test; a real one is not found."""
    monkeypatch.setitem(sys.modules, "smac", None)
    monkeypatch.setenv("SC2PATH", str(tmp_path / "game"))
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
    if files:
        _forget()


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A smac that can be imported."""
    install(tmp_path, monkeypatch, GOOD)


def check(**env_args):
    return checked_env_args({"env": "sc2", "env_args": env_args})


def install_game(tmp_path, *maps):
    binary = tmp_path / "game" / "Versions" / "Base75689" / "SC2_x64"
    binary.parent.mkdir(parents=True)
    binary.touch(mode=0o755)
    for name in maps:
        path = tmp_path / "game" / "Maps" / "SMAC_Maps" / f"{name}.SC2Map"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()


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
def test_a_missing_or_wrong_package_is_reported(tmp_path, monkeypatch, files, message):
    install(tmp_path, monkeypatch, files)
    for make in (REGISTRY["sc2"], check):
        with pytest.raises(ConfigError, match=message) as error:
            make()
        assert "bash install_sc2.sh --packages-only" in str(error.value)
        assert "--env-config=skirmish" in str(error.value)
        if "cannot be imported" not in message:
            assert "unrelated optimiser" in str(error.value)


def test_smacv2_is_another_package(monkeypatch):
    monkeypatch.setitem(sys.modules, "smacv2", None)
    with pytest.raises(ConfigError, match=r"env=sc2_v2: the package smacv2 is not installed"):
        REGISTRY["sc2_v2"]()


def test_a_missing_game_is_reported(package):
    with pytest.raises(ConfigError, match=r"no StarCraft II in .*game.*--accept-eula.*SC2PATH.*skirmish"):
        check(map_name="3m")


@pytest.mark.parametrize(
    ("system", "usual", "binary"),
    [
        ("Darwin", "/Applications/StarCraft II", "SC2.app/Contents/MacOS/SC2"),
        ("Windows", "C:/Program Files (x86)/StarCraft II", "SC2_x64.exe"),
    ],
)
def test_other_systems_have_the_game_where_blizzards_installer_puts_it(
    package, tmp_path, monkeypatch, system, usual, binary
):
    monkeypatch.setattr("platform.system", lambda: system)
    monkeypatch.setattr(installation, "CHECKOUT", tmp_path)
    monkeypatch.delenv("SC2PATH")
    assert str(installation.game_folder()) == usual
    with pytest.raises(ConfigError, match=rf"no StarCraft II in {re.escape(usual)} .*{binary} is missing.*Battle.net"):
        check(map_name="3m")
    game = tmp_path / "3rdparty" / "StarCraftII"
    file = game / "Versions" / "Base75689" / binary
    file.parent.mkdir(parents=True)
    file.touch(mode=0o755)
    (game / "Maps").mkdir()
    (game / "Maps" / "3m.SC2Map").touch()
    assert installation.game_folder() == game, "one in the checkout comes first"
    check(map_name="3m")
    monkeypatch.setattr("platform.system", lambda: "Linux")
    with pytest.raises(ConfigError, match=r"SC2_x64 is missing.*--accept-eula"):
        check(map_name="3m")


def test_a_missing_map_is_reported(package, tmp_path):
    install_game(tmp_path, "3m")
    check(map_name="3m")
    with pytest.raises(ConfigError, match=r"8m.SC2Map is not in .*Maps.*--maps-only.*skirmish"):
        check()  # smac's own default
    with pytest.raises(ConfigError, match=r"32x32_flat.SC2Map is not in"):
        check(map_name="10gen_terran")


def test_an_unknown_map_is_reported(package, tmp_path):
    install_game(tmp_path, "3m")
    for make in (REGISTRY["sc2"], check):
        with pytest.raises(ConfigError, match=r"env_args.map_name=2z3s: smac has no such map. Did you mean '2s3z'"):
            make(map_name="2z3s")


def test_arguments_are_checked_and_reach_the_package(package, tmp_path):
    install_game(tmp_path, "2s3z")
    args = check(map_name="2s3z", difficulty=3, reward_win=0.5, seed=1, max_restarts=2, game_timeout=9)
    assert args["difficulty"] == "3", "smac looks difficulties up by text"
    env = REGISTRY["sc2"](**args)
    assert env.arguments == ("2s3z", "3", 8, 0.5, 1)
    assert (env.max_restarts, env.game_timeout) == (2, 9)


def test_a_game_that_is_not_executable_is_reported(package, tmp_path):
    install_game(tmp_path, "3m")
    (binary,) = tmp_path.glob("game/Versions/*/SC2_x64")
    binary.chmod(0o644)
    with pytest.raises(ConfigError, match=r"SC2_x64 is not executable\. To fix it: chmod \+x"):
        check(map_name="3m")


@pytest.mark.parametrize(
    ("env_args", "words"),
    [
        ({"max_restarts": -1}, "max_restarts is -1; it must be a number from 0"),
        ({"game_timeout": 0}, "game_timeout is 0; it must be a number from 1"),
        ({"difficulty": "Z"}, "difficulty is 'Z'. Allowed: 1, 2"),
        ({"step_mul": 10**12}, "step_mul=1000000000000: integers may be at most 1000000"),
        ({"step_mul": "fast"}, r"env_args\.step_mul=fast"),
        ({"mapname": "3m"}, r"env_args\.mapname.*Did you mean 'map_name'"),
    ],
)
def test_arguments_that_make_no_sense(package, tmp_path, env_args, words):
    install_game(tmp_path, "3m")
    with pytest.raises(ConfigError, match=words):
        check(**{"map_name": "3m"} | env_args)
