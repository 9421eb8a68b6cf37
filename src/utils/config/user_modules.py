"""Importing modules that not everyone has: the user's own, by name or by the path of a file, and packages."""

import importlib
import importlib.util
import os
import pkgutil
import re
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

from utils.config.user_code import OwnFolder, UserCode, is_path, plugin_of
from utils.errors import ConfigError
from utils.nearest import did_you_mean
from utils.old_tensorboard_logger import let_tensorboard_logger_be_imported
from utils.own_imports import with_our_names
from utils.own_modules import NAMES, checkout_name, own_name
from utils.plain_values import quoted

# packages that the index has another one under the name of
MISLEADING = {
    name: f"It is that of github.com/oxwhirl/{name} (on the package index, smac is an unrelated optimiser): bash "
    "install_sc2.sh --packages-only. Without StarCraft II, leave this import out: --env-config=skirmish needs none."
    for name in ("smac", "smacv2")
}


def imported(option: str, plugin: str) -> ModuleType:
    """The user's module: the path of a file or a folder, or a name of one that is installed or in the current folder.

    Raises:
        ConfigError: there is none, or importing it fails; the message names `option`.
    """
    let_tensorboard_logger_be_imported()
    try:
        folder = _count_current_folder()
        with with_our_names(plugin):
            return _imported_path(option, Path(plugin)) if is_path(plugin) else _imported_name(option, plugin)
    except ConfigError:
        raise
    except ModuleNotFoundError as error:
        if not is_path(plugin) and is_absent(plugin, error):
            hint = did_you_mean(plugin, (module.name for module in pkgutil.iter_modules([folder])))
            raise ConfigError(
                f"{option}: importing '{quoted(plugin)}' failed: {error}, neither installed nor in {folder}.{hint}"
            ) from error
        where, remedy = line_of(error, plugin), _remedy(error.name or "", folder)
        raise ConfigError(f"{option}: importing '{plugin}' failed{where}: {error}. {remedy}") from error
    except SystemExit as error:
        where = line_of(error, plugin)
        raise ConfigError(f"{option}: importing '{plugin}' failed{where}: it calls sys.exit({error.code}).") from error
    except Exception as error:
        where = line_of(error, plugin)
        raise ConfigError(f"{option}: importing '{plugin}' failed{where}: {type(error).__name__}: {error}") from error


def _remedy(name: str, folder: str) -> str:
    """What to do about a module that a user's file imports and that is not there."""
    package = checkout_name(name).partition(".")[0]
    if package in MISLEADING:
        return MISLEADING[package]
    if package in NAMES:
        return (
            "Muster has no such module, nor has the plugin. Files that import each other are one plugin: their folder."
        )
    return f"It is neither installed nor in {folder}; if it is a package, install it with: pip install {package}"


def own_names(module: ModuleType) -> list[str]:
    """The public classes and functions that a module defines itself, for messages about one that it lacks."""
    return [
        name
        for name, value in vars(module).items()
        if callable(value) and not name.startswith("_") and getattr(value, "__module__", None) == module.__name__
    ]


def _count_current_folder() -> str:
    """Let modules of the current folder be found after all others, by processes of environments, too; the folder."""
    folder = os.getcwd()
    # run as src/main.py, Python searches the program's folder only
    if folder not in sys.path and "" not in sys.path:
        sys.path.append(folder)
    return folder


def _imported_name(option: str, name: str) -> ModuleType:
    """The user's module of this name, else Muster's, whose names start with `muster.` where it is installed."""
    try:
        module = importlib.import_module(name)
        if getattr(module, "__file__", "") is None and hasattr(module, "__path__"):
            raise ConfigError(
                f"{option}: '{quoted(name)}' is a folder without an __init__.py, so a module without content. As "
                f"a folder of parts, name it by a path: {quoted(name)}/"
            )
        return module
    except ModuleNotFoundError as error:
        own = own_name(name)
        if own == name or not is_absent(name, error):
            raise
        try:
            return importlib.import_module(own)
        except ModuleNotFoundError as of_ours:
            raise error if is_absent(own, of_ours) else of_ours from None


def _imported_path(option: str, path: Path) -> ModuleType:
    path, given = path.resolve(), path
    if not path.is_dir() and (given.suffix != ".py" or not path.is_file()):
        raise ConfigError(f"{option}: there is no {'file' if given.suffix == '.py' else 'folder'} {path}.")
    for known in list(sys.modules.values()):
        if plugin_of(known) == str(path):
            return known
    stem = path.stem if path.is_file() else re.sub(r"\W", "_", path.name)
    name = stem if stem not in sys.modules else f"{stem}_{abs(hash(str(path))):x}"
    module = _of_folder(option, name, path) if path.is_dir() else _of_file(name, path)
    # environment processes cannot import it by name, so its classes travel to them whole
    import cloudpickle

    cloudpickle.register_pickle_by_value(module)
    return module


def _of_file(name: str, path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, path, loader=UserCode(name, str(path), str(path)))
    assert spec is not None and spec.loader is not None, path
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def _of_folder(option: str, name: str, path: Path) -> ModuleType:
    folder = OwnFolder(name, path)
    if not (path / "__init__.py").is_file() and not folder.registering():
        raise ConfigError(
            f"{option}: the folder {path} registers nothing: it has no __init__.py, which would import the "
            "folder's files and register their parts."
        )
    return folder.load()


def line_of(error: BaseException, plugin: str) -> str:
    """Where in the user's file or module an error comes from, " at line N", for a folder with the file; else empty."""
    if is_path(plugin) and not plugin.endswith(".py"):
        return _line_in_folder(error, Path(plugin).resolve())
    if isinstance(error, SyntaxError):
        return f" at line {error.lineno}"
    frame, line, module = error.__traceback__, None, plugin.replace(".", os.sep)
    ends = (Path(plugin).name,) if plugin.endswith(".py") else (f"{module}.py", os.path.join(module, "__init__.py"))
    while frame is not None:
        if frame.tb_frame.f_code.co_filename.endswith(ends):
            line = frame.tb_lineno
        frame = frame.tb_next
    return f" at line {line}" if line else ""


def _line_in_folder(error: BaseException, folder: Path) -> str:
    places = [(error.filename, error.lineno)] if isinstance(error, SyntaxError) else []
    places += [(frame.filename, frame.lineno) for frame in reversed(traceback.extract_tb(error.__traceback__))]
    for file, line in places:
        if file and Path(file).is_relative_to(folder):
            return f" at line {line} of {Path(file).relative_to(folder)}"
    return ""


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
