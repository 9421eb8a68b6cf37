"""Parameter files: configs in Python, which compute coupled values once.

A parameter file is a module with `cpanel`, a dict of the values to choose, and `gen_params(cpanel) -> config`. It may
ask a throw-away environment for its spaces (`envs.asking.ask_environment`). Files written for Digideep, which
import from it and return its tree of parameters, are read, too (`cli.foreign.digideep_trees`).
"""

import copy
import importlib.util
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from cli.foreign.digideep_trees import OPTIONAL, digideep_modules, is_theirs, is_tree, of_panel, taken_from
from cli.panel import changed_panel, decoded, encoded, renamed
from utils.config.merging import config_path, recursive_dict_update
from utils.config.user_modules import line_of
from utils.errors import ConfigError
from utils.files.regular_files import read_regular
from utils.own_imports import file_loader
from utils.plain_values import problem_of, quoted

LARGEST_FILE = 2**17


@dataclass(frozen=True)
class ParameterFile:
    """A parameter file that was imported.

    Attributes:
        name: as the command line has it.
        cpanel: the file's own panel.
        former: the file's `former`, if it has one: names that its panel had before, and the keys that stand for them.
        elsewhere: its `elsewhere`: keys that the panel does not have, and what a refusal says of them.
        theirs: written for Digideep, so `gen_params` returns a tree of its parameters.
    """

    name: str
    path: Path
    cpanel: dict[str, Any]
    gen_params: Callable[[dict[str, Any]], Any]
    former: Mapping[str, Sequence[str]] = field(default_factory=dict)
    elsewhere: Mapping[str, str] = field(default_factory=dict)
    theirs: bool = False

    def config(self, changes: Mapping[str, Any]) -> dict[str, Any]:
        """What `gen_params` makes of the changed panel, with the panel and the file's name beside it.

        Raises:
            ConfigError: an invalid change, `gen_params` fails, or its result is no config.
        """
        panel = self._changed(self.cpanel, changes)
        return {**self._generated(panel), "parameter_file": self.name, "cpanel": encoded(panel)}

    def difference(self, recorded: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
        """What changes of a recorded panel change in the config; the panel itself included.

        Raises:
            ConfigError: as `config`; or the file has another panel than the recorded one.
        """
        before = self.config(renamed(decoded("cpanel", recorded), self.former))
        after = self.config(self._changed(decoded("cpanel", before["cpanel"]), changes))
        return {key: value for key, value in after.items() if key not in before or before[key] != value}

    def _changed(self, panel: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
        # Digideep's panels have a whole number where a fraction is meant, too, and None may mean no limit
        return changed_panel(panel, changes, elsewhere=self.elsewhere, loose=self.theirs)

    def _generated(self, panel: dict[str, Any]) -> dict[str, Any]:
        try:
            with digideep_modules():
                made = self.gen_params(copy.deepcopy(panel))
        except ConfigError as error:  # of the environment it asks
            raise ConfigError(f"{self.path}: gen_params: {error}") from None
        except (Exception, SystemExit) as error:
            where = line_of(error, str(self.path))
            raise ConfigError(f"{self.path}: gen_params failed{where}: {_text(error)}") from error
        if not isinstance(made, Mapping):
            raise ConfigError(
                f"{self.path}: gen_params returned a {type(made).__name__}, not a mapping of config keys."
            )
        if is_tree(made):
            made = self._of_tree(made)
        config = plain_config(made)
        if problem := problem_of(config):
            raise ConfigError(f"{self.path}: gen_params: {problem}.")
        for key in ("cpanel", "parameter_file"):
            if key in config:
                raise ConfigError(f"{self.path}: gen_params: the key '{key}' is added by Muster.")
        return config

    def _of_tree(self, tree: Mapping[str, Any]) -> dict[str, Any]:
        """The config of Digideep's parameters, by the preset that stands for their agent."""
        try:
            name, values, beside = taken_from(tree)
            preset = load_parameters(name, config_path(name, "algs"))
            return recursive_dict_update(preset.gen_params(of_panel(preset.cpanel, values, preset.name)), beside)
        except ConfigError as error:
            raise ConfigError(f"{self.path}: gen_params: {error}") from None


def load_parameters(name: str, path: Path) -> ParameterFile:
    """Import a parameter file.

    Args:
        name: of a file under config/algs, or a path.

    Raises:
        ConfigError: it cannot be read or imported (with the line), or lacks `cpanel` or `gen_params`.
    """
    try:
        read_regular(path, LARGEST_FILE, follow_links=True)
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read ({error.strerror}).") from None
    module_name = f"parameters_{path.stem}"
    spec = importlib.util.spec_from_file_location(module_name, path, loader=file_loader(module_name, path))
    assert spec is not None and spec.loader is not None, path
    module = importlib.util.module_from_spec(spec)
    try:
        with digideep_modules():
            spec.loader.exec_module(module)
    except ConfigError as error:
        raise ConfigError(f"{path}: importing it failed{line_of(error, str(path))}: {error}") from None
    except (Exception, SystemExit) as error:
        raise ConfigError(f"{path}: importing it failed{line_of(error, str(path))}: {_text(error)}") from error
    cpanel, gen_params = getattr(module, "cpanel", None), getattr(module, "gen_params", None)
    if not isinstance(cpanel, Mapping):
        raise ConfigError(f"{path}: a parameter file needs 'cpanel', a dict; found {quoted(repr(cpanel))}.")
    if not callable(gen_params):
        raise ConfigError(f"{path}: a parameter file needs a function 'gen_params(cpanel)'.")
    if problem := problem_of(encoded(cpanel)):
        raise ConfigError(f"{path}: cpanel: {problem}.")
    former, elsewhere, theirs = getattr(module, "former", {}), getattr(module, "elsewhere", {}), is_theirs(module)
    return ParameterFile(name, path, {**(OPTIONAL if theirs else {}), **cpanel}, gen_params, former, elsewhere, theirs)


def _text(error: BaseException) -> str:
    return f"it calls sys.exit({error.code})" if isinstance(error, SystemExit) else f"{type(error).__name__}: {error}"


def plain_config(value: Any) -> Any:
    """A config, or a value in one, in dicts and lists: tuples and arrays as lists, NumPy's numbers as Python's."""
    if isinstance(value, Mapping):
        return {key: plain_config(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [plain_config(inner) for inner in value]
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else value
