"""Importing the user's own files, which register their parts."""

import importlib
import importlib.util
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType

from utils.errors import ConfigError
from utils.nearest import suggestion
from utils.plain_values import shown


def import_plugins(plugins: Sequence[str] | str | None) -> None:
    """Import each plugin once: a path that ends in .py, or the name of a module.

    Raises:
        ConfigError: there is no such file or module, or importing it fails; the message has file and line.
    """
    plugins = [plugins] if isinstance(plugins, str) else plugins or []
    if not isinstance(plugins, list | tuple) or not all(isinstance(plugin, str) for plugin in plugins):
        raise ConfigError(f"plugins={plugins}: expected a list of paths or module names.")
    for plugin in plugins:
        imported("plugins", plugin)


def function_of(option: str, name: str) -> Callable:
    """The user's function `module:function` or `file.py:function`.

    Raises:
        ConfigError: there is no such module or function; the message names `option`.
    """
    module, _, function = name.rpartition(":")
    if not module or not function:
        raise ConfigError(f"{option}={shown(name)}: expected module:function or file.py:function.")
    found = imported(option, module)
    if not callable(getattr(found, function, None)):
        functions = [key for key, value in vars(found).items() if callable(value) and not key.startswith("_")]
        raise ConfigError(
            f"{option}: '{module}' has no function '{shown(function)}'.{suggestion(function, functions, 5)}"
        )
    return getattr(found, function)


def imported(option: str, plugin: str) -> ModuleType:
    """The user's module: a path that ends in .py, or a name.

    Raises:
        ConfigError: there is none, or importing it fails; the message names `option`.
    """
    try:
        return _imported_file(option, Path(plugin)) if plugin.endswith(".py") else importlib.import_module(plugin)
    except ConfigError:
        raise
    except ModuleNotFoundError as error:
        raise ConfigError(f"{option}: importing '{plugin}' failed: {error}.") from error
    except SystemExit as error:
        where = line_of(error, plugin)
        raise ConfigError(f"{option}: importing '{plugin}' failed{where}: it calls sys.exit({error.code}).") from error
    except Exception as error:
        where = line_of(error, plugin)
        raise ConfigError(f"{option}: importing '{plugin}' failed{where}: {type(error).__name__}: {error}") from error


def plugin_files(plugins: Sequence[str]) -> list[Path]:
    """The source files of plugins that are imported."""
    modules = [sys.modules.get(plugin) for plugin in plugins if not plugin.endswith(".py")]
    named = [Path(plugin).resolve() for plugin in plugins if plugin.endswith(".py")]
    return [*named, *(Path(module.__file__) for module in modules if getattr(module, "__file__", None))]


def _imported_file(option: str, path: Path) -> ModuleType:
    path = path.resolve()
    if not path.is_file():
        raise ConfigError(f"{option}: there is no file {path}.")
    for known in list(sys.modules.values()):
        if getattr(known, "__muster_plugin__", None) == str(path):
            return known
    name = path.stem if path.stem not in sys.modules else f"{path.stem}_{abs(hash(str(path))):x}"
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    module.__muster_plugin__ = str(path)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    # environment processes cannot import it by name, so its classes travel to them whole
    import cloudpickle

    cloudpickle.register_pickle_by_value(module)
    return module


def line_of(error: BaseException, plugin: str) -> str:
    """Where in the file `plugin` an error comes from, " at line N"; empty if it comes from elsewhere."""
    if isinstance(error, SyntaxError):
        return f" at line {error.lineno}"
    frame, line = error.__traceback__, None
    while frame is not None:
        if frame.tb_frame.f_code.co_filename.endswith(Path(plugin).name):
            line = frame.tb_lineno
        frame = frame.tb_next
    return f" at line {line}" if line else ""
