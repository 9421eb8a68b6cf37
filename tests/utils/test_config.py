"""Merging, and the one place of defaults."""

from types import SimpleNamespace

import pytest

from utils.config import config_names, config_path, default_config, flatten, recursive_dict_update, with_defaults
from utils.errors import ConfigError


def test_mappings_merge_and_everything_else_replaces():
    base = {"a": 1, "b": {"c": [1, 2], "d": {"e": 1}}, "n": None}
    update = {"b": {"c": [3], "d": {"f": 2}}, "n": {"x": 1}, "g": {}}
    assert recursive_dict_update(base, update) == {
        "a": 1,
        "b": {"c": [3], "d": {"e": 1, "f": 2}},
        "n": {"x": 1},  # defect 18: over a null key the family fails
        "g": {},
    }
    base["b"]["c"].append(4)
    assert update["b"]["c"] == [3]


def test_flatten():
    assert flatten({"a": {"b": 1, "c": {}}, "d": [1]}) == {"a.b": 1, "a.c": {}, "d": [1]}


def test_missing_keys_come_from_default_yaml():
    args = SimpleNamespace(lr=7)
    filled = with_defaults(args)
    assert (filled.lr, filled.gamma, filled.hypernet_layers) == (7, 0.99, 1)
    assert with_defaults(filled) is filled
    assert not hasattr(args, "gamma")
    filled.env_args["x"] = 1
    assert default_config()["env_args"] == {}


def test_names_and_paths(tmp_path):
    assert {"qmix", "coma_beta"} <= set(config_names("algs"))
    own = tmp_path / "own.yml"
    own.write_text("")
    assert config_path(str(own), "algs") == own
    with pytest.raises(ConfigError, match="Did you mean 'qmix'"):
        config_path("qmixx", "algs")
