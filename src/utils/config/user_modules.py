"""Importing modules that not everyone has: the user's own, by name or by the path of a file, and packages."""

import importlib
import importlib.util
import os
import pkgutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

from utils.errors import ConfigError
from utils.nearest import did_you_mean
from utils.old_tensorboard_logger import let_tensorboard_logger_be_imported
from utils.own_imports import file_loader, with_our_names
from utils.plain_values import quoted


def imported(option: str, plugin: str) -> ModuleType:
    """The user's module: a path that ends in .py, or the name of one that is installed or in the current folder.

    Raises:
        ConfigError: there is none, or importing it fails; the message names `option`.
    """
    let_tensorboard_logger_be_imported()
    try:
        folder = _count_current_folder()
        with with_our_names(plugin):
            return _imported_file(option, Path(plugin)) if plugin.endswith(".py") else importlib.import_module(plugin)
    except ConfigError:
        raise
    except ModuleNotFoundError as error:
        if not plugin.endswith(".py") and is_absent(plugin, error):
            hint = did_you_mean(plugin, (module.name for module in pkgutil.iter_modules([folder])))
            raise ConfigError(
                f"{option}: importing '{quoted(plugin)}' failed: {error}, neither installed nor in {folder}.{hint}"
            ) from error
        package = (error.name or "").partition(".")[0]
        raise ConfigError(
            f"{option}: importing '{plugin}' failed{line_of(error, plugin)}: {error}. It is neither installed nor in "
            f"{folder}; if it is a package, install it with: pip install {package}"
        ) from error
    except SystemExit as error:
        where = line_of(error, plugin)
        raise ConfigError(f"{option}: importing '{plugin}' failed{where}: it calls sys.exit({error.code}).") from error
    except Exception as error:
        where = line_of(error, plugin)
        raise ConfigError(f"{option}: importing '{plugin}' failed{where}: {type(error).__name__}: {error}") from error


def _count_current_folder() -> str:
    """Let modules of the current folder be found after all others, by processes of environments, too; the folder."""
    folder = os.getcwd()
    # run as src/main.py, Python searches the program's folder only
    if folder not in sys.path and "" not in sys.path:
        sys.path.append(folder)
    return folder


def _imported_file(option: str, path: Path) -> ModuleType:
    path = path.resolve()
    if not path.is_file():
        raise ConfigError(f"{option}: there is no file {path}.")
    for known in list(sys.modules.values()):
        # getattr would load modules that load when they are asked for something, as torch's compiler
        if isinstance(known, ModuleType) and vars(known).get("__muster_plugin__") == str(path):
            return known
    name = path.stem if path.stem not in sys.modules else f"{path.stem}_{abs(hash(str(path))):x}"
    spec = importlib.util.spec_from_file_location(name, path, loader=file_loader(name, path))
    assert spec is not None and spec.loader is not None, path
    module = importlib.util.module_from_spec(spec)
    vars(module)["__muster_plugin__"] = str(path)
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
    """Where in the user's file or module an error comes from, " at line N"; empty if it comes from elsewhere."""
    if isinstance(error, SyntaxError):
        return f" at line {error.lineno}"
    frame, line, module = error.__traceback__, None, plugin.replace(".", os.sep)
    ends = (Path(plugin).name,) if plugin.endswith(".py") else (f"{module}.py", os.path.join(module, "__init__.py"))
    while frame is not None:
        if frame.tb_frame.f_code.co_filename.endswith(ends):
            line = frame.tb_lineno
        frame = frame.tb_next
    return f" at line {line}" if line else ""


@contextmanager
def not_imported(name: str) -> Iterator[None]:
    """Within this, `import name` fails as if the package were missing. Without effect where it is imported already."""
    if name in sys.modules:
        yield
        return
    sys.modules[name] = None  # type: ignore[assignment] # what makes Python refuse the import
    try:
        yield
    finally:
        del sys.modules[name]


def is_absent(name: str, error: ModuleNotFoundError) -> bool:
    """Whether importing the module `name` did not find it, or a package that it is in; else it is there and lacks
    another one."""
    return error.name is not None and f"{name}.".startswith(f"{error.name}.")
