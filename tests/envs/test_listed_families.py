"""The environments of other packages: the list, the commands that install them, and the names that games have today."""

import importlib
import importlib.util
import re
import sys

import numpy as np
import pytest
from gymnasium import spaces
from pettingzoo import ParallelEnv

from cli.listing import listing
from envs import families
from envs.families import FAMILIES, installing, registering
from envs.gymnasium import tasks
from envs.pettingzoo import modules
from envs.pettingzoo.environment import PettingZoo
from standins import ROOT
from utils.config.merging import config_names
from utils.errors import ConfigError


def absent(*names):
    """They count as not installed."""
    found = importlib.util.find_spec
    return lambda name, package=None: None if name.partition(".")[0] in names else found(name, package)


def test_the_list_names_every_family_with_what_installs_it(monkeypatch):
    monkeypatch.setattr(families.importlib.util, "find_spec", absent("rware", "lbforaging"))
    monkeypatch.delitem(sys.modules, "lbforaging", raising=False)
    text = listing("environments")
    assert all(family.title in text for family in FAMILIES)
    there, missing = text.split("Other packages, and what installs them\n")
    assert "  MPE  " in there and "  level-based foraging  " in missing
    assert re.search(
        r"RWARE +pip install rware==2.0.0 .*; then --env-config=gymma with env_args.key=rware:rware-tiny-2ag", missing
    )
    assert "POGEMA" in missing


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.title)
def test_a_family_has_a_door_and_a_row_in_the_docs(family):
    assert family.door in config_names("envs")
    page = (ROOT / "docs" / "environments.md").read_text()
    assert f"`{family.install}`" in page and f"`{family.key.partition('=')[2]}`" in page


@pytest.mark.parametrize(
    ("name", "module"),
    [
        ("ALE/Pong-v5", "ale_py"),
        ("MiniGrid-Empty-5x5-v0", "minigrid"),
        ("BabyAI-GoToObj-v0", "minigrid"),
        ("highway-v0", "highway_env"),
        ("intersection-multi-agent-v1", "highway_env"),
        ("rware-tiny-2ag-v2", "rware"),
        ("Foraging-8x8-2p-3f-v3", "lbforaging"),
        ("smaclite/MMM-v0", "smaclite"),
        ("FetchReach-v4", "gymnasium_robotics"),
    ],
)
def test_an_id_of_a_package_that_is_not_imported_imports_it(name, module, monkeypatch):
    assert registering(name).needs[0] == module
    monkeypatch.setattr(tasks, "require", required := [].append)
    monkeypatch.setattr(tasks, "require", lambda *words: required(words) or __import__("gymnasium"))
    monkeypatch.delitem(__import__("gymnasium").registry, name, raising=False)
    with pytest.raises(ConfigError, match="has no environment"):
        tasks.task_of(name)
    assert (module, f"env_args.key={name}", installing(module)) in required.__self__


@pytest.mark.parametrize("name", ["CartPole-v1", "Ant-v5", "Taxi-v4"])
def test_ids_of_gymnasiums_own_are_of_no_package(name):
    assert registering(name) is None


@pytest.mark.parametrize(
    ("key", "today"),
    [
        ("mpe2.simple_spread_v3", "mpe2.simple_spread_v3"),
        ("pettingzoo.mpe.simple_spread_v3", "mpe2.simple_spread_v3"),
        ("pettingzoo.magent.battle_v4", "magent2.environments.battle_v4"),
        ("simple_tag_v3", "mpe2.simple_tag_v3"),
        ("pistonball_v6", "pettingzoo.butterfly.pistonball_v6"),
        ("tictactoe_v3", "pettingzoo.classic.tictactoe_v3"),
        ("my_game_v1", "my_game_v1"),
        ("pettingzoo.sisl.pursit_v4", "pettingzoo.sisl.pursit_v4"),
        ("mine.py", "mine.py"),
    ],
)
def test_the_names_of_games_today(key, today, caplog):
    assert modules.present(key) == today
    assert caplog.messages == []


@pytest.mark.parametrize(
    ("key", "today"),
    [
        ("pettingzoo.sisl.pursuit_v4", "pettingzoo.sisl.pursuit_v5"),
        ("cooperative_pong_v5", "pettingzoo.butterfly.cooperative_pong_v6"),
        ("pettingzoo.mpe.simple_spread_v2", "mpe2.simple_spread_v3"),
    ],
)
def test_another_version_of_a_game_is_played_with_a_warning(key, today, monkeypatch, caplog):
    monkeypatch.setattr(modules, "_WARNED", set())
    assert [modules.present(key), modules.present(key)] == [today, today]
    assert caplog.messages == [f"env_args.key={key}: today's package has {today}, another version, which is played."]


@pytest.mark.parametrize(
    "game",
    ["magent2.environments.battle_v4", "gymnasium_robotics.envs.multiagent_mujoco.mamujoco_v1"],
)
def test_games_of_other_packages_are_found_by_their_names_alone_too(game, monkeypatch):
    monkeypatch.setattr(modules, "_games_of", lambda package: [game] if game.startswith(f"{package}.") else [])
    assert modules.present(game.rpartition(".")[2]) == game


def test_a_file_of_the_users_comes_before_a_game_of_that_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pistonball_v6.py").write_text("")
    assert modules.present("pistonball_v6") == "pistonball_v6"


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (
            ImportError("Hanabi depends on OpenSpiel"),
            r'OpenSpiel. All that its family needs: pip install "pettingzoo\[classic\]"',
        ),
        (OSError("rom pong is not installed. Use AutoROM"), r"is not installed: OSError: rom pong .* Use AutoROM$"),
    ],
)
def test_a_game_that_lacks_something_only_when_it_is_made(error, message, monkeypatch):
    tictactoe = importlib.import_module("pettingzoo.classic.tictactoe_v3")

    def fails():
        raise error

    for name in ("env", "raw_env"):
        monkeypatch.setattr(tictactoe, name, fails)
    monkeypatch.delattr(tictactoe, "parallel_env", raising=False)
    with pytest.raises(ConfigError, match=message):
        PettingZoo.check_args(key="pettingzoo.classic.tictactoe_v3", time_limit=11)


class Vectors(ParallelEnv):
    """Rewards are vectors, as MOMAland's."""

    metadata = {"name": "vectors"}  # noqa: RUF012
    possible_agents = ["a"]  # noqa: RUF012

    def observation_space(self, agent):
        return spaces.Box(0, 1, (1,))

    def action_space(self, agent):
        return spaces.Discrete(2)

    def reset(self, seed=None, options=None):
        self.agents = ["a"]
        return {"a": np.zeros(1, np.float32)}, {"a": {}}

    def step(self, actions):
        return {"a": np.zeros(1, np.float32)}, {"a": np.ones(2)}, {"a": False}, {"a": False}, {"a": {}}


def test_rewards_that_are_vectors_are_refused_before_a_run():
    with pytest.raises(ConfigError, match=r"the reward of a is array.*, and not one number"):
        PettingZoo.check_args(key=f"{__name__}:Vectors", time_limit=9)


def test_without_a_key_the_message_says_where_they_are_listed():
    with pytest.raises(ConfigError, match=r"env_args.key is missing.*--list environments"):
        PettingZoo.check_args(key=None, time_limit=9)
