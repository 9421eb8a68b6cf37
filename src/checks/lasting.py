"""A config as a record has it: what names a file means the same in every folder."""

from collections.abc import Mapping
from typing import Any

from checks.options import options_of_keys
from checks.plugins import lasting_plugins
from envs import reaches_of
from utils.config.merging import config_names
from utils.config.reach import NOWHERE, whole_path


def lasting(config: Mapping[str, Any]) -> dict[str, Any]:
    """A checked config with the whole paths of its files, as its options declare them (`utils.config.reach`)."""
    made = _lasting_keys(config)
    if made.get("plugins"):
        made["plugins"] = lasting_plugins(made["plugins"])
    if isinstance(config.get("env_args"), Mapping):
        reaches = reaches_of(config.get("env"))
        made["env_args"] = {key: reaches.get(key, NOWHERE).lasting(value) for key, value in config["env_args"].items()}
    if isinstance(config.get("teams"), Mapping):
        made["teams"] = {name: _lasting_team(own) for name, own in config["teams"].items()}
    return made


def _lasting_keys(config: Mapping[str, Any]) -> dict[str, Any]:
    options = options_of_keys()
    return {key: options[key][0].reach.lasting(value) if key in options else value for key, value in config.items()}


def _lasting_team(own: Any) -> Any:
    if not isinstance(own, Mapping):
        return own
    made = _lasting_keys(own)
    if own.get("config") and own["config"] not in config_names("algs"):
        made["config"] = whole_path(own["config"])
    return made
