"""From the names on the command line to one merged config."""

import copy
import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from checks.options import completed, declared
from checks.plugins import import_plugins
from utils.config import CONFIG_DIR, config_path, default_config, recursive_dict_update
from utils.errors import ConfigError
from utils.plain_values import shown
from utils.yaml_files import load_yaml


@dataclass
class Composed:
    """A merged config, and the files of the keys that nothing declares."""

    config: dict
    own_keys: dict[str, Path]


def compose_config(algorithm: str, environment: str) -> Composed:
    """Merge default.yaml, the environment's file and the algorithm's; the later wins, nested mappings merge.

    Raises:
        ConfigError: there is no such file, or it is not a config.
    """
    env_path, alg_path = config_path(environment, "envs"), config_path(algorithm, "algs")
    env_config, alg_config = _load(env_path), _load(alg_path)
    _drop_arguments_of_other_environments(alg_config, env_config)
    config, known = default_config(), declared()
    own_keys = {
        key: path
        for path, overlay in ((env_path, env_config), (alg_path, alg_config))
        for key in overlay
        if key not in known
    }
    recursive_dict_update(config, env_config)
    recursive_dict_update(config, alg_config)
    return Composed(config, own_keys)


def with_own_defaults(config: Mapping[str, Any], settings: Mapping[str, Any]) -> dict:
    """`config` with the defaults of the keys that it has once `settings` change it.

    These are the keys of the parts that it then chooses, and those that `settings` name: Sacred takes no others.

    Raises:
        ConfigError: a plugin cannot be imported; plugins may declare keys.
    """
    changed = recursive_dict_update(copy.deepcopy(dict(config)), settings)
    import_plugins(changed.get("plugins"))
    options = declared(changed)
    # seed is Sacred's, too
    missing = [key for key in completed(changed) if key in options and key not in (*config, "seed")]
    return {**config, **{key: copy.deepcopy(options[key].default) for key in missing}}


def _load(path: Path) -> dict:
    config = load_yaml(path)
    defaults = default_config()
    for key, value in config.items():
        if isinstance(defaults.get(key), Mapping) and not isinstance(value, Mapping):
            raise ConfigError(f"{path}: '{key}' must be a mapping of keys to values, found {shown(value)}.")
    if "plugins" in config:
        config["plugins"] = _beside(path, config["plugins"])
    return config


def _beside(path: Path, plugins: Any) -> Any:
    """`plugins` of the config file `path`: files beside it by their own path; the others are looked for elsewhere."""
    if isinstance(plugins, str):
        return _beside(path, [plugins])
    if not isinstance(plugins, list):
        return plugins  # refused later
    return [_file_beside(path, plugin) if isinstance(plugin, str) else plugin for plugin in plugins]


def _file_beside(path: Path, plugin: str) -> str:
    file = path.resolve().parent / plugin
    return str(file) if plugin.endswith(".py") and os.path.isfile(file) else plugin


def _drop_arguments_of_other_environments(alg_config: dict, env_config: dict) -> None:
    """Drop the arguments in an algorithm's file that are for another environment than the chosen one.

    COMA's file turns StarCraft's `state_last_action` off; a game without that argument has nothing to turn off.
    An argument that no environment's file has stays, and is refused as unknown.
    """
    arguments = alg_config.get("env_args", {})
    for key in [key for key in arguments if key not in env_config.get("env_args", {})]:
        if key in _arguments_of_environments():
            del arguments[key]


@cache
def _arguments_of_environments() -> set[str]:
    """Every argument that a file of our environments has."""
    return {key for path in (CONFIG_DIR / "envs").glob("*.yaml") for key in load_yaml(path).get("env_args", {})}
