"""From the names on the command line to one merged config."""

import copy
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from checks.collection import chosen_as_runner
from checks.options import completed, declared
from checks.plugins import import_plugins, joined
from checks.teams import of_team
from checks.values import as_written
from cli.config_files import load_config_file, name_in_records, read_algorithm
from cli.parameter_files import load_parameters
from utils.config.merging import (
    CHOOSING,
    CONFIG_DIR,
    choose_one,
    config_path,
    default_config,
    flatten,
    recursive_dict_update,
)
from utils.config.renamed_keys import with_new_names
from utils.errors import ConfigError
from utils.files.written_numbers import plain, texts_of
from utils.files.yaml_files import load_yaml
from utils.plain_values import quoted


@dataclass
class Composed:
    """A merged config, and the files of the keys that nothing declares.

    `recorded`: of a run that is resumed, its config before any change. `parameter_file`: the one that has run, if any.
    `algorithm`: a file of the user's own that names the algorithm.
    `note`: for the console, once nothing is refused any more.
    `texts`: how numbers are written in the files, "a.b" -> text.
    """

    config: dict
    own_keys: dict[str, Path] = field(default_factory=dict)
    recorded: dict = field(default_factory=dict)
    parameter_file: Path | None = None
    note: str = ""
    texts: dict[str, str] = field(default_factory=dict)
    algorithm: Path | None = None


def compose_config(
    algorithm: str,
    environment: str | Mapping[str, Any] | None,
    panel: Mapping[str, Any] | None = None,
    settings: Mapping[str, Any] | None = None,
) -> Composed:
    """Merge default.yaml, the environment's file and the algorithm's; the later wins, nested mappings merge.

    The plugins of the files are joined, the algorithm's first.

    Args:
        environment: the name of a file, or what a file would have; None: the one that a parameter file or a trainer
            file of ML-Agents chooses.
        panel: changes of a parameter file's control panel.
        settings: those after `with`, nested, by which a trainer file finds its simulator.

    Raises:
        ConfigError: there is no such file, or it is not a config; or a change of a panel that is invalid.
    """
    alg_path = config_path(algorithm, "algs")
    named = environment if isinstance(environment, str) else None
    read = read_algorithm(algorithm, alg_path, named, panel or {}, settings or {})
    alg_config = read.config
    if isinstance(environment, Mapping):
        env_path, env_config = Path(str(environment["env"])), dict(environment)
    else:
        env_path = config_path(read.environment or _environment_of(alg_path, alg_config), "envs")
        env_config = load_config_file(env_path)
    if read.chooses and alg_config.get("env", env_config.get("env")) != env_config.get("env"):
        raise ConfigError(
            f"{alg_path} chooses the environment {quoted(alg_config['env'])}, and "
            f"--env-config={quoted(str(named or env_path))} another one. Leave --env-config out."
        )
    _drop_arguments_of_other_environments(alg_config, env_config)
    config, known = default_config(), declared()
    plugins = joined(*(content.get("plugins") for content in (config, alg_config, env_config)))
    own_keys = {
        key: path
        for path, overlay in ((env_path, env_config), (alg_path, alg_config))
        for key in overlay
        if key not in known
    }
    of_algorithm = flatten(alg_config)
    texts = {key: text for key, text in texts_of(env_config).items() if key not in of_algorithm} | texts_of(alg_config)
    recursive_dict_update(config, plain(env_config))
    recursive_dict_update(config, plain(alg_config))
    if "plugins" in config:
        config["plugins"] = plugins
    parameter_file = alg_path if read.is_code else None
    own = None if alg_path.parent == CONFIG_DIR / "algs" else alg_path
    return Composed(config, own_keys, parameter_file=parameter_file, note=read.note, texts=texts, algorithm=own)


def resumed_config(config: dict, panel: Mapping[str, Any], named: str | None) -> Composed:
    """The config of a resumed run, with what changes of its control panel change.

    Args:
        config: the run's.
        named: the parameter file that the command line names. A record names no code that runs, but the name of a file
            under config/algs.

    Raises:
        ConfigError: the run has no panel, its file is not named, or the change is invalid.
    """
    composed = Composed(recursive_dict_update(default_config(), config))
    if not panel:
        return composed
    name = config.get("parameter_file")
    if not isinstance(name, str) or not name or not isinstance(config.get("cpanel"), Mapping):
        raise ConfigError("cpanel: the run was not started from a parameter file, so it has no control panel.")
    if name.endswith(".py") and not named:
        raise ConfigError(
            f"cpanel: to change the panel, the run's parameter file runs again: {quoted(name, 200)}. Records may come "
            f"from others: check it, and name it: with parameter_file={quoted(name, 200)}"
        )
    path = config_path(named or name, "algs", ["."] if named or name.endswith(".py") else [])
    name = name_in_records(named or name, path)
    if path.suffix != ".py":
        raise ConfigError(
            f"parameter_file={quoted(named or name)}: it is no parameter file, whose name would end in .py."
        )
    changes = load_parameters(name, path).difference(config["cpanel"], panel)
    recursive_dict_update(composed.config, with_new_names(changes))
    composed.parameter_file = path
    return composed


def taken(
    composed: Composed, settings: Mapping[str, Any], new: bool, texts: Mapping[str, str] | None = None
) -> tuple[dict, dict]:
    """The config before `with` and the settings after it, as they act together.

    Args:
        settings: nested; not changed.
        new: whether it is a new run's (`settled`).
        texts: how settings were written that are no text otherwise (`checks.values`).

    Returns:
        the config with the defaults of the parts that the settings choose, and the settings: plugins joined, and text
        as it was written.

    Raises:
        ConfigError: a plugin cannot be imported.
    """
    settings = settled(composed.config, settings, new)
    known = with_own_defaults(composed.config, settings)
    changed = recursive_dict_update(copy.deepcopy(known), settings)
    return as_written(changed, known, composed.texts), as_written(changed, settings, texts or {})


def settled(config: Mapping[str, Any], settings: Mapping[str, Any], new: bool) -> dict:
    """The settings after `with` as they change `config`: plugins are added to those of the files.

    `plugins=[]` means none at all. `runner=collectors` is spelled out, as checkpoints have it, so that the records of
    a run and of its resumption have the same words.

    Args:
        new: the presets of teams bring their plugins; those that a record names do not.
    """
    changed = recursive_dict_update({"teams": copy.deepcopy(config.get("teams"))}, settings)
    of_files = [config.get("plugins"), *(_of_presets(changed["teams"]) if new else ())]
    merged = recursive_dict_update(copy.deepcopy(dict(config)), settings)
    spelled = chosen_as_runner(merged)
    words = {key: spelled[key] for key in ("runner", "collection") if spelled.get(key) != merged.get(key)}
    if "plugins" in settings:
        words["plugins"] = joined(*of_files, settings["plugins"]) if settings["plugins"] else []
    elif (plugins := joined(*of_files)) != (config.get("plugins") or []):
        words["plugins"] = plugins
    return {**settings, **words}


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
    made = {**config, **{key: copy.deepcopy(options[key].default) for key in missing}}
    # nor a mapping in place of null
    return {
        key: {} if value is None and isinstance(settings.get(key), Mapping) else value for key, value in made.items()
    }


def _environment_of(path: Path, config: Mapping[str, Any]) -> str:
    if not isinstance(config.get("env"), str):
        raise ConfigError(f"--env-config is missing, and {path} chooses no environment. {choose_one('envs')}")
    return config["env"]


def _of_presets(teams: Any) -> Iterator[Any]:
    """The plugins of the presets of teams."""
    for name, own in teams.items() if isinstance(teams, Mapping) else ():
        if isinstance(own, Mapping) and isinstance(own.get("config"), str) and own["config"]:
            with of_team(name):
                path = config_path(own["config"], "algs")
                yield load_config_file(path).get("plugins") if path.suffix not in CHOOSING else None  # refused later


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
