"""The files that name an algorithm or an environment: ours, the user's, and those of other programs."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cli.foreign.enn_trainer import load_enn_config
from cli.foreign.epymarl import epymarls_config, is_epymarls
from cli.foreign.linesight import ENVIRONMENT as LINESIGHTS_ENVIRONMENT
from cli.foreign.linesight import linesight_config, linesight_values
from cli.foreign.mlagents import is_trainer_file, trainer_config
from cli.parameter_files import load_parameters
from cli.presets import equal_to
from utils.config.merging import CHOOSING, CONFIG_DIR, config_path, shared_defaults
from utils.config.renamed_keys import with_new_names
from utils.config.user_code import is_path, lies_in
from utils.errors import ConfigError
from utils.files.yaml_files import load_written, load_yaml
from utils.plain_values import quoted


@dataclass
class Algorithm:
    """What an algorithm's file says.

    Attributes:
        config: its keys.
        environment: by which it is read; None: it names its own.
        chooses: whether a file of this form may choose the environment itself.
        is_code: whether it was run to be read.
        note: for the console.
    """

    config: dict
    environment: str | None
    chooses: bool = False
    is_code: bool = False
    note: str = ""


def read_algorithm(
    name: str, path: Path, environment: str | None, panel: Mapping[str, Any], settings: Mapping[str, Any]
) -> Algorithm:
    """Read an algorithm's file, in whichever of the forms it is: ours, a parameter file, or one of another program."""
    linesights = linesight_values(path) if path.suffix == ".py" else None
    is_code = path.suffix == ".py" and linesights is None
    if is_code:
        config = load_parameters(name_in_records(name, path), path).config(panel)
        return Algorithm(_checked(path, config), environment, chooses=True, is_code=True)
    if panel:
        raise ConfigError(
            f"cpanel: {path.name} is no parameter file, so it has no control panel. Set keys of the config after "
            "'with', as in with lr=1e-3."
        )
    if linesights is not None:
        environment = environment or LINESIGHTS_ENVIRONMENT
        plays = load_config_file(config_path(environment, "envs")).get("env", environment)
        config, note = linesight_config(path, linesights, plays)
        return Algorithm(_checked(path, config), environment, note=note)
    if path.suffix == ".ron":
        config, note = load_enn_config(path)
        return Algorithm(config, environment, chooses=True, note=note)
    config, note = load_written(path), ""
    if is_trainer := is_trainer_file(config):
        config, note = _of_trainer(path, config, environment, settings)
    elif is_epymarls(config):
        try:
            config, note = epymarls_config(path, config)
        except ConfigError as error:
            raise ConfigError(f"{error}{equal_to(path)}") from None
    return Algorithm(_checked(path, config), environment, chooses=is_trainer, note=note)


def panel_of(name: str, path: Path) -> dict[str, Any] | None:
    """The control panel of an algorithm's file; None if it is no parameter file.

    Raises:
        ConfigError: as `load_parameters`.
    """
    if path.suffix != ".py" or linesight_values(path) is not None:
        return None
    return load_parameters(name_in_records(name, path), path).cpanel


def reads_settings(path: Path) -> bool:
    """Whether an algorithm's file makes a config of the settings after `with`, too: trainer files of ML-Agents do."""
    return path.suffix not in CHOOSING and is_trainer_file(load_yaml(path))


def _of_trainer(
    path: Path, content: Mapping[str, Any], environment: str | None, settings: Mapping[str, Any]
) -> tuple[dict, str]:
    """The config of a trainer file of ML-Agents, which knows the simulator by all that is said of it, and its note."""
    preset, known = load_yaml(config_path("ppo", "algs")), load_yaml(config_path(environment or "dots", "envs"))
    return trainer_config(path, content, preset, known, settings)


def name_in_records(name: str, path: Path) -> str:
    """The name by which a record has a parameter file: a name alone is one of ours, the user's own have their path."""
    return name if path.parent == CONFIG_DIR / "algs" else str(path)


def load_config_file(path: Path) -> dict:
    return _checked(path, load_written(path))


def _checked(path: Path, config: dict) -> dict:
    """The config of a file, whose mappings are ones, and whose plugins are found from it."""
    try:
        config = with_new_names(config)
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from None
    defaults = shared_defaults()
    for key, value in config.items():
        if isinstance(defaults.get(key), Mapping) and not isinstance(value, Mapping):
            raise ConfigError(f"{path}: '{key}' must be a mapping of keys to values, found {quoted(value)}.")
    try:
        if "plugins" in config:
            config["plugins"] = beside(path, config["plugins"])
        if "callbacks" in config:
            config["callbacks"] = _names_beside(path, config["callbacks"])
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from None
    return config


def beside(path: Path, plugins: Any) -> Any:
    """`plugins` of the file `path`: those that lie beside it by their own path, others in the current folder.

    Raises:
        ConfigError: a file that is in neither.
    """
    if isinstance(plugins, str):
        return beside(path, [plugins])
    if not isinstance(plugins, list):
        return plugins  # refused later
    return [_file_beside(path, plugin) if isinstance(plugin, str) else plugin for plugin in plugins]


def _names_beside(path: Path, names: Any) -> Any:
    """Names of code, "file.py:Name", in lists and mappings, too, whose files are found as those of plugins."""
    if isinstance(names, list):
        return [_names_beside(path, name) for name in names]
    if isinstance(names, Mapping):
        return {key: _names_beside(path, name) for key, name in names.items()}
    file, colon, name = names.rpartition(":") if isinstance(names, str) else ("", "", "")
    return f"{_file_beside(path, file, 'callbacks')}{colon}{name}" if colon else names


def _file_beside(path: Path, plugin: str, key: str = "plugins") -> str:
    folder = path.resolve().parent
    if lies_in(folder, plugin):
        return str(folder / plugin)
    if is_path(plugin) and not lies_in(Path(), plugin):
        where = (
            "" if os.path.isabs(plugin) else f" in {folder}" + (f" or {os.getcwd()}" if folder != Path.cwd() else "")
        )
        what = "file" if plugin.endswith(".py") else "folder"
        raise ConfigError(f"{key}: there is no {what} {quoted(plugin, 300)}{where}.")
    return plugin
