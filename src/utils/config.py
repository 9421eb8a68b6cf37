"""Where configs live, how they are merged, and how missing keys get their documented default."""

import copy
import functools
import os
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from utils.errors import ConfigError
from utils.nearest import suggestion
from utils.plain_values import shown
from utils.yaml_files import load_yaml

CONFIG_DIR = Path(__file__).resolve().parents[2] / "config"


def config_names(family: str) -> list[str]:
    """The names of YAML files that `--config` (family "algs") or `--env-config` (family "envs") takes."""
    return sorted(path.stem for path in (CONFIG_DIR / family).glob("*.yaml"))


def parameter_names() -> list[str]:
    """The names of parameter files, in Python, that `--config` takes besides."""
    return sorted(path.stem for path in (CONFIG_DIR / "algs").glob("*.py"))


def config_path(name: str, family: str) -> Path:
    """Return the file of a config name; a path stands for itself: one that ends in .yaml or .yml, or of `algs` in .py.

    Raises:
        ConfigError: there is no such file, or two of one name; the message has the nearest name.
    """
    if name.endswith((".yaml", ".yml", ".py") if family == "algs" else (".yaml", ".yml")):
        # unlike Path.is_file, this is False for a name that is too long, too
        if not os.path.isfile(name):
            raise ConfigError(f"There is no config file {shown(name, 300)}.")
        return Path(name)
    yaml, python = config_names(family), parameter_names() if family == "algs" else []
    if name in yaml and name in python:
        both = [CONFIG_DIR / family / f"{name}{ending}" for ending in (".yaml", ".py")]
        raise ConfigError(f"--config={name} could mean two files. Choose one by its path: {both[0]} or {both[1]}.")
    if name in python:
        return CONFIG_DIR / family / f"{name}.py"
    if name not in (names := sorted({*yaml, *python})):
        option = {"algs": "--config", "envs": "--env-config"}[family]
        given = shown(name)
        raise ConfigError(f"{option}={given}: there is no config/{family}/{given}.yaml.{suggestion(name, names)}")
    return CONFIG_DIR / family / f"{name}.yaml"


@functools.cache
def shared_defaults() -> Mapping[str, Any]:
    """config/default.yaml, read once: not to be changed."""
    return load_yaml(CONFIG_DIR / "default.yaml")


def default_config() -> dict:
    """A copy of config/default.yaml, the keys that parts share; `checks.options` adds those of single parts."""
    return copy.deepcopy(shared_defaults())


def recursive_dict_update(base: dict, update: Mapping) -> dict:
    """Merge `update` into `base` in place and return it: mappings merge, anything else replaces."""
    for key, value in update.items():
        if isinstance(value, Mapping):
            below = base.get(key)
            base[key] = recursive_dict_update(below if isinstance(below, dict) else {}, value)
        else:
            base[key] = copy.deepcopy(value)
    return base


def flatten(config: Mapping, prefix: str = "") -> dict[str, Any]:
    """Nested mapping -> {"a.b": leaf}; an empty mapping is a leaf."""
    flat = {}
    for key, value in config.items():
        if isinstance(value, Mapping) and value:
            flat.update(flatten(value, f"{prefix}{key}."))
        else:
            flat[f"{prefix}{key}"] = value
    return flat


def with_defaults(args: Any, own: Mapping[str, Any] | None = None) -> SimpleNamespace:
    """Return `args` with every missing key filled in from config/default.yaml and from `own`.

    Parts read keys from `args` without their own fallback: each default stands in one place. Here, code that builds
    its arguments by hand, with PyMARL's keys only, gets the missing ones.
    A complete `args` is returned as it is: parts of one run share one namespace.

    Args:
        own: the defaults that the part declares (`Registry.defaults_of`).
    """
    defaults = {**shared_defaults(), **(own or {})}
    missing = {key: value for key, value in defaults.items() if not hasattr(args, key)}
    if not missing:
        return args
    return SimpleNamespace(**copy.deepcopy(missing), **vars(args))
