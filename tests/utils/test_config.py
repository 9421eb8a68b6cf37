"""Merging, and the one place of defaults."""

import copy
import re
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from utils.config.merging import (
    CONFIG_DIR,
    config_names,
    config_path,
    default_config,
    flatten,
    recursive_dict_update,
    with_defaults,
)
from utils.errors import ConfigError


def test_mappings_merge_and_everything_else_replaces():
    base = {"a": 1, "b": {"c": [1, 2], "d": {"e": 1}}, "n": None}
    update = {"b": {"c": [3], "d": {"f": 2}}, "n": {"x": 1}, "g": {}}
    assert recursive_dict_update(base, update) == {
        "a": 1,
        "b": {"c": [3], "d": {"e": 1, "f": 2}},
        "n": {"x": 1},  # over a null key PyMARL fails
        "g": {},
    }
    base["b"]["c"].append(4)
    assert update["b"]["c"] == [3]


LEAVES = st.none() | st.integers() | st.lists(st.integers(), max_size=2)
CONFIGS = st.recursive(LEAVES, lambda below: st.dictionaries(st.sampled_from("abc"), below, max_size=3), max_leaves=12)
CONFIGS = st.dictionaries(st.sampled_from("abc"), CONFIGS, max_size=3)


@given(CONFIGS, CONFIGS)
def test_the_later_config_wins(base, update):
    before, update_before = copy.deepcopy(base), copy.deepcopy(update)
    merged = recursive_dict_update(base, update)
    assert merged is base
    assert update == update_before
    _check_merged(merged, before, update)


def _check_merged(merged, base, update):
    assert set(merged) == set(base) | set(update)
    for key, value in merged.items():
        if key not in update:
            assert value == base[key]
        elif isinstance(update[key], dict):
            _check_merged(value, base[key] if isinstance(base.get(key), dict) else {}, update[key])
        else:
            assert value == update[key]


def test_flatten():
    assert flatten({"a": {"b": 1, "c": {}}, "d": [1]}) == {"a.b": 1, "a.c": {}, "d": [1]}


def test_missing_keys_come_from_default_yaml():
    args = SimpleNamespace(lr=7)
    filled = with_defaults(args, {"hypernet_layers": 1, "lr": 3})
    assert (filled.lr, filled.gamma, filled.hypernet_layers) == (7, 0.99, 1)
    assert with_defaults(filled, {"hypernet_layers": 2}) is filled
    assert not hasattr(args, "gamma")
    filled.env_args["x"] = 1
    assert default_config()["env_args"] == {}


def test_names_and_paths(tmp_path):
    assert {"qmix", "coma_beta"} <= set(config_names("algs"))
    own = tmp_path / "own.yml"
    own.write_text("")
    assert config_path(str(own), "algs") == own
    assert config_path("qmix", "algs").read_text().strip()
    with pytest.raises(ConfigError, match=r"--config=qmixx: .*config/algs/qmixx\.yaml.*Did you mean 'qmix'"):
        config_path("qmixx", "algs")
    with pytest.raises(ConfigError, match=r"--env-config=sc3: .*config/envs/sc3\.yaml.*Did you mean 'sc2'"):
        config_path("sc3", "envs")
    with pytest.raises(ConfigError, match=r"no config file .*other\.yaml"):
        config_path(str(tmp_path / "other.yaml"), "algs")


def test_files_in_the_current_folder_go_by_their_name_too(tmp_path, monkeypatch):
    """Ours come first; the message says what was searched."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sub").mkdir()
    for name in ("mine.yaml", "game.yml", "panel.py", "qmix.yaml", "sub/below.yaml", "two.yml", "two.py"):
        (tmp_path / name).write_text("")
    found = {("mine", "algs"): "mine.yaml", ("game", "envs"): "game.yml", ("panel", "algs"): "panel.py"}
    for (name, family), path in {**found, ("sub/below", "algs"): "sub/below.yaml"}.items():
        assert config_path(name, family) == Path(path)
    assert config_path("qmix", "algs") == CONFIG_DIR / "algs" / "qmix.yaml"
    with pytest.raises(ConfigError, match="could mean two files"):
        config_path("two", "algs")
    for name, family in (("none", "envs"), ("../envs/lbf", "algs"), ("none.yaml", "algs")):
        with pytest.raises(ConfigError, match=rf"in {re.escape(str(tmp_path))}\."):
            config_path(name, family)
    with pytest.raises(ConfigError, match=r"there is no config/algs/mine\.yaml\. "):
        config_path("mine", "algs", [])


@pytest.mark.parametrize("name", ["game", "game.py", "game.py:Chase", "{folder}/game.py"])
def test_an_environment_in_python_is_the_key_of_another(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "game.py").touch()
    with pytest.raises(
        ConfigError, match=r"game\.py is code.* env_args\.key=.*game\.py:Class, of --env-config=gymnasium"
    ):
        config_path(name.format(folder=tmp_path), "envs")
    with pytest.raises(ConfigError, match=r"no config/envs/none\.yaml, nor such a file"):
        config_path("none", "envs")


@pytest.mark.parametrize(("family", "room"), [("algs", "config/algs"), ("envs", "src/config/envs")])
def test_a_name_in_a_forks_own_folder_is_answered_with_its_path(tmp_path, monkeypatch, family, room):
    monkeypatch.chdir(tmp_path)
    (tmp_path / room).mkdir(parents=True)
    (tmp_path / room / "mine.yaml").touch()
    with pytest.raises(ConfigError, match=rf"Name your own by its path: {room}/mine\.yaml$"):
        config_path("mine", family)


def test_a_name_that_is_nearly_that_of_a_file_in_the_folder_is_understood(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my_algorithm.yaml").touch()
    (tmp_path / "quite_another.yaml").touch()
    with pytest.raises(ConfigError, match=r"Did you mean 'my_algorithm'\?") as refused:
        config_path("my_algoritm", "algs")
    assert "quite_another" not in str(refused.value)
