"""Importing the user's own files, which register their parts."""

import importlib
import importlib.util
import sys
from collections.abc import Sequence
from pathlib import Path

from utils.errors import ConfigError


def import_plugins(plugins: Sequence[str] | str | None) -> None:
    """Import each plugin once: a path that ends in .py, or the name of a module.

    Raises:
        ConfigError: there is no such file or module, or importing it fails; the message has file and line.
    """
    plugins = [plugins] if isinstance(plugins, str) else plugins or []
    if not isinstance(plugins, list | tuple) or not all(isinstance(plugin, str) for plugin in plugins):
        raise ConfigError(f"plugins={plugins}: expected a list of paths or module names.")
    for plugin in plugins:
        try:
            if plugin.endswith(".py"):
                _import_file(Path(plugin))
            else:
                importlib.import_module(plugin)
        except ConfigError:
            raise
        except ModuleNotFoundError as error:
            raise ConfigError(f"plugins: importing '{plugin}' failed: {error}.") from error
        except SystemExit as error:
            where = line_of(error, plugin)
            raise ConfigError(
                f"plugins: importing '{plugin}' failed{where}: it calls sys.exit({error.code})."
            ) from error
        except Exception as error:
            where = line_of(error, plugin)
            raise ConfigError(
                f"plugins: importing '{plugin}' failed{where}: {type(error).__name__}: {error}"
            ) from error


def _import_file(path: Path) -> None:
    path = path.resolve()
    if not path.is_file():
        raise ConfigError(f"plugins: there is no file {path}.")
    if any(getattr(module, "__muster_plugin__", None) == str(path) for module in list(sys.modules.values())):
        return
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
