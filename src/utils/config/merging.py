"""Where configs live, how they are merged, and how missing keys get their documented default."""

import copy
import functools
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from utils.config.epymarl_keys import PRESETS, instead_of
from utils.config.renamed_keys import with_new_names
from utils.errors import ConfigError
from utils.files.yaml_files import load_yaml
from utils.nearest import did_you_mean, nearest, suggestion
from utils.own_modules import HOME
from utils.plain_values import quoted

CONFIG_DIR = HOME / "config"
# an algorithm's configs that are no YAML, and may choose the environment: parameter files, and those of enn-trainer
CHOOSING = (".py", ".ron")
# names in a message
MOST_NAMED = 40
EXAMPLES = {"algs": ("qmix", "mappo"), "envs": ("skirmish", "lbf")}
LISTED_AS = {"algs": "algorithms", "envs": "environments"}


def config_names(family: str) -> list[str]:
    """The names of YAML files that `--config` (family "algs") or `--env-config` (family "envs") takes."""
    return sorted(path.stem for path in (CONFIG_DIR / family).glob("*.yaml"))


def parameter_names() -> list[str]:
    """The names of parameter files, in Python, that `--config` takes besides."""
    return sorted(path.stem for path in (CONFIG_DIR / "algs").glob("*.py"))


def choose_one(family: str) -> str:
    """The end of a message where none is named: which there are, or of many where they are listed."""
    names = config_names(family) + (parameter_names() if family == "algs" else [])
    if len(names) <= MOST_NAMED:
        return f"Choose one of: {', '.join(names)}."
    return f"Choose one, such as {' or '.join(EXAMPLES[family])}: {_all_of(family, len(names))}."


def _all_of(family: str, count: int) -> str:
    return f"python src/main.py --list {LISTED_AS[family]} shows all {count}"


def config_path(name: str, family: str, folders: Sequence[str | Path] = (".",), key: str = "") -> Path:
    """Return the file of a config: one of ours by its name, or the user's own by its name or path.

    Names that only EPyMARL has, mappo_ns, are those of presets here: epymarl_mappo_ns. A path ends in .yaml or .yml, or
    of `algs` in .py or .ron; names leave that out.

    Args:
        folders: where files of the user's own are looked for, the first first.
        key: what names the config, for messages (default: the option).

    Raises:
        ConfigError: there is no such file, or two of one name; the message has the nearest name, and what was searched.
    """
    endings = (".yaml", ".yml", *CHOOSING) if family == "algs" else (".yaml", ".yml")
    if name.endswith(endings):
        # unlike Path.is_file, this is False for a name that is too long, too
        path = next((Path(folder, name) for folder in folders if os.path.isfile(os.path.join(folder, name))), None)
        if path is None:
            searched = "" if os.path.isabs(name) else f" in {_listed(folders)}"
            raise ConfigError(f"There is no config file {quoted(name, 300)}{searched}.")
        return path
    given = quoted(name, 40)
    key = key or {"algs": f"--config={given}", "envs": f"--env-config={given}"}[family]
    # ours have names, and no paths
    for folder in (*([CONFIG_DIR / family] if os.path.basename(name) == name else []), *folders):
        found = [own for ending in endings if os.path.isfile(own := os.path.join(folder, f"{name}{ending}"))]
        if len(found) > 1:
            raise ConfigError(f"{key} could mean two files. Choose one by its path: {found[0]} or {found[1]}.")
        if found and name:
            return Path(found[0])
    if os.path.basename(name) == name and os.path.isfile(theirs := CONFIG_DIR / family / f"{PRESETS}{name}.yaml"):
        return theirs
    names = config_names(family) + (parameter_names() if family == "algs" else [])
    # of the user's files, only what is like this name: there may be any others
    files = [path for folder in folders for path in Path(folder).glob("*") if path.suffix in endings]
    like = nearest(name, (path.stem for path in files))
    names += [like] if like else []
    nor = f", nor such a file in {_listed(folders)}" if folders else ""
    if family == "envs" and (code := _python_file(name, folders)):
        raise ConfigError(
            f"{key}: {code} is code, and no config. Its class is env_args.key={code}:Class, of --env-config=gymnasium "
            "if it has one agent, or of --env-config=gymma if it has several."
        )
    # where PyMARL and its forks have them
    elsewhere = [Path(folder, room, f"config/{family}", f"{name}.yaml") for folder in folders for room in ("", "src")]
    if at := next((path for path in elsewhere if os.path.isfile(path)), None):
        raise ConfigError(f"{key}: there is no config/{family}/{given}.yaml{nor}. Name your own by its path: {at}")
    names = sorted({*names})
    if not (hint := instead_of(name)):
        many = len(names) > MOST_NAMED
        hint = f"{did_you_mean(name, names)} {_all_of(family, len(names))}." if many else suggestion(name, names)
    raise ConfigError(f"{key}: there is no config/{family}/{given}.yaml{nor}.{hint}")


def _python_file(name: str, folders: Sequence[str | Path]) -> str:
    """The file of Python that a name means, with or without a class after it; "": there is none."""
    path = name.rpartition(":")[0] or name
    path = path if path.endswith(".py") else f"{path}.py"
    return path if any(os.path.isfile(os.path.join(folder, path)) for folder in folders) else ""


def _listed(folders: Sequence[str | Path]) -> str:
    return " or ".join(os.path.abspath(folder) for folder in folders)


@functools.cache
def shared_defaults() -> Mapping[str, Any]:
    """config/default.yaml, read once: not to be changed."""
    return with_new_names(load_yaml(CONFIG_DIR / "default.yaml"))  # a user may have changed it


def default_config() -> dict:
    """A copy of config/default.yaml, the keys that parts share; `checks.options` adds those of single parts."""
    return copy.deepcopy(dict(shared_defaults()))


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
    return SimpleNamespace(**{**copy.deepcopy(missing), **with_new_names(vars(args))})
