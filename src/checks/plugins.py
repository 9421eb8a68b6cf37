"""Importing the user's own files, which register their parts."""

import os
import sys
from collections.abc import Callable, Sequence
from inspect import signature
from pathlib import Path
from typing import Any

from utils.config.options import converted
from utils.config.registry import note_plugin
from utils.config.user_code import is_path, plugin_of
from utils.config.user_modules import imported, own_names
from utils.errors import ConfigError
from utils.nearest import suggestion
from utils.plain_values import quoted


def joined(*places: Any) -> Any:
    """The plugins that several places name, each once, in their order; files and folders are known by absolute paths.

    Args:
        places: what each place says: a list, one plugin, or None. A value that is neither is returned, to be refused.
    """
    plugins: dict[str, str] = {}
    for named in places:
        named = _listed(named)
        if not isinstance(named, list | tuple) or not all(isinstance(plugin, str) for plugin in named):
            return named
        for plugin in named:
            plugins.setdefault(os.path.abspath(plugin) if is_path(plugin) else plugin, plugin)
    return list(plugins.values())


def import_plugins(plugins: Sequence[str] | str | None) -> None:
    """Import each plugin once: the path of a file or a folder, or the name of a module.

    Raises:
        ConfigError: there is no such file, folder or module, or importing it fails; the message has file and line.
    """
    plugins = _listed(plugins)
    if not isinstance(plugins, list | tuple) or not all(isinstance(plugin, str) for plugin in plugins):
        raise ConfigError(f"plugins={plugins}: expected a list of paths or module names.")
    for plugin in plugins:
        imported("plugins", plugin)
        note_plugin(plugin)


def lasting_plugins(plugins: Sequence[str] | str | None) -> list[str]:
    """The names of plugins that are imported as a record has them, so that they mean the same in every folder.

    Of a file or a folder this is its whole path, also of a file that was imported as a module from the current folder.
    """
    return [_lasting(plugin) for plugin in _listed(plugins)]


def _listed(plugins: Any) -> Any:
    """One plugin as a list of it, and none as an empty one."""
    return converted("plugins", plugins, []) if isinstance(plugins, str) else plugins or []


def _lasting(plugin: str) -> str:
    if is_path(plugin):
        return str(Path(plugin).resolve())
    file = getattr(sys.modules.get(plugin), "__file__", None)
    beside = Path(f"{plugin}.py").resolve()
    return str(beside) if file is not None and Path(file).resolve() == beside else plugin


def function_of(option: str, name: str) -> Callable:
    """The user's function of one argument, `module:function` or `file.py:function`.

    Raises:
        ConfigError: there is no such module or function, or it takes something else; the message names `option`.
    """
    module, _, function = name.rpartition(":")
    if not module or not function:
        raise ConfigError(f"{option}={quoted(name)}: expected module:function or file.py:function.")
    found = imported(option, module)
    if not callable(getattr(found, function, None)):
        known = suggestion(function, own_names(found), 5)
        raise ConfigError(f"{option}: '{module}' has no function '{quoted(function)}'.{known}")
    function = getattr(found, function)
    try:
        signature(function).bind(None)
    except TypeError as error:
        raise ConfigError(f"{option}={quoted(name)} is called with one argument: {error}.") from None
    except ValueError:  # written in C, it may have no signature
        pass
    return function


def plugin_files(plugins: Sequence[str]) -> list[Path]:
    """The source files of plugins that are imported."""
    named = {str(Path(plugin).resolve()) for plugin in plugins if is_path(plugin)}
    others = {plugin for plugin in plugins if not is_path(plugin)}
    modules = [(name, module) for name, module in sys.modules.items() if name in others or plugin_of(module) in named]
    files = (getattr(module, "__file__", None) for _, module in modules)
    return [Path(file) for file in files if file]
