"""The modules that have a parallel environment, and the arguments that these take."""

import importlib.util
import inspect
import os
import re
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from envs.contract.arguments import not_made, require_parameters
from envs.contract.optional import INSTALL_ENVS, require
from envs.pettingzoo.turns import TurnGame
from utils.config.user_modules import imported, is_absent
from utils.errors import ConfigError
from utils.nearest import did_you_mean, suggestion
from utils.plain_values import quoted

# those that `requirements-envs.txt` installs; other modules are the user's
PACKAGES = ("mpe2", "pettingzoo")
VERSION = re.compile(r"_v\d+$")
# PettingZoo's names of what makes an environment: one in which all act at once, and in turns
MAKERS = ("parallel_env", "env", "raw_env")
# agents, landmarks, cells: what a user of these games may count
MOST_COUNTED = 1000


def module_of(key: str) -> ModuleType:
    """The module that `env_args.key` names, or the user's file, `path/to/file.py`. Raises ConfigError: it does not
    exist, lacks a package, or has no environment."""
    # pygame, which many of them draw with, greets on standard output otherwise
    os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")
    where, package = f"env_args.key={quoted(key)}", key.partition(".")[0]
    require("pettingzoo", where)
    if package not in PACKAGES or key.endswith(".py"):
        module = imported(where, key)
    else:
        folder = Path(str(require(package, where).__file__)).parent
        if not _is_module(key):
            games = _games(package, folder)
            beside = [game for game in games if game.rpartition(".")[0] == key.rpartition(".")[0]]
            raise ConfigError(
                f"env_args.key: there is no module '{quoted(key)}'.{suggestion(key, beside or games, 12)}"
            )
        module = require(key, where, _command(key))
    if not _makers(module):
        games = _games(package, folder) if package in PACKAGES else []
        raise ConfigError(
            f"env_args.key: the module '{quoted(key)}' ({getattr(module, '__file__', None)}) has no {MAKERS[0]}, so it "
            f"is not a PettingZoo environment.{did_you_mean(key, games)}"
        )
    return module


def _makers(module: ModuleType) -> dict[str, Callable[..., Any]]:
    found = {name: getattr(module, name, None) for name in MAKERS}
    return {name: maker for name, maker in found.items() if callable(maker)}


def _is_module(key: str) -> bool:
    try:
        return importlib.util.find_spec(key) is not None
    except ModuleNotFoundError as error:  # of a package that it would be in
        if is_absent(key, error):
            return False
        raise


def _games(package: str, folder: Path) -> list[str]:
    """The names of the games of a package: modules with a version."""
    paths = (path.relative_to(folder).with_suffix("") for path in folder.rglob("*_v*.py"))
    return [".".join((package, *path.parts)) for path in paths if VERSION.search(path.name)]


def _command(key: str) -> str:
    """What installs all that a module needs: PettingZoo's families are its extras."""
    package, _, rest = key.partition(".")
    return f'pip install "pettingzoo[{rest.partition(".")[0]}]"' if package == "pettingzoo" and rest else INSTALL_ENVS


def maker_of(key: str, module: ModuleType) -> Callable[..., Any]:
    """What makes a module's parallel environment: its `parallel_env`, or its turn-based form (AEC), converted.

    Where the environment says that all agents may act at once, they do.
    """
    name, make = next(iter(_makers(module).items()))
    if name == MAKERS[0]:
        return make

    def converted(**kwargs: Any) -> Any:
        env = make(**kwargs)
        if not (getattr(env, "metadata", None) or {}).get("is_parallelizable"):
            return TurnGame(env, key)
        from pettingzoo.utils.conversions import aec_to_parallel

        return aec_to_parallel(env)

    return converted


def made(key: str, time_limit: int, kwargs: dict[str, Any] | None) -> Any:
    """The module's environment; its own limit on steps, if it has one, is `time_limit` unless `kwargs` have another."""
    module, arguments = module_of(key), dict(kwargs or {})
    if "max_cycles" in inspect.signature(_main_maker(module)).parameters:
        arguments.setdefault("max_cycles", time_limit)
    return maker_of(key, module)(**arguments)


def made_by(key: str, kwargs: dict[str, Any] | None) -> Any:
    """The environment of a class or function of PettingZoo's that "file.py:Class" names; None: it is of another kind.

    Raises:
        ConfigError: the module cannot be imported, or the class does not take `kwargs`.
    """
    path, _, name = key.rpartition(":")
    where = f"env_args.key={quoted(key)}"
    make = getattr(imported(where, path), name, None)
    if not callable(make) or not _is_pettingzoo(make):
        return None
    require_parameters(f"env_args.kwargs: {key}", make, kwargs or {})
    env = make(**(kwargs or {}))
    return TurnGame(env, key) if hasattr(env, "agent_iter") else env


def _is_pettingzoo(make: Any) -> bool:
    """Whether a class is PettingZoo's, or like one; a function by what it is annotated to return."""
    kind = make if isinstance(make, type) else inspect.signature(make).return_annotation
    known = require("pettingzoo", "env=pettingzoo")
    return isinstance(kind, type) and (
        issubclass(kind, known.ParallelEnv | known.AECEnv) or callable(getattr(kind, "observation_space", None))
    )


def _main_maker(module: ModuleType) -> Callable[..., Any]:
    """`raw_env`, to which the others often pass everything, or else one of the others."""
    makers = _makers(module)
    return makers.get("raw_env") or next(iter(makers.values()))


def _try_arguments(key: str, make: Callable[..., Any], kwargs: dict) -> None:
    """Make an environment with them, which checks them best; an error names the invalid ones."""
    try:
        make(**kwargs).close()
    except ConfigError:
        raise
    except Exception as error:
        alone = [name for name in kwargs if not _makes_one(make, {name: kwargs[name]})]
        raise not_made(f"env_args.kwargs: {key}", {name: kwargs[name] for name in alone or kwargs}, error) from error


def _makes_one(make: Callable[..., Any], kwargs: dict) -> bool:
    try:
        make(**kwargs).close()
    except Exception:
        return False
    return True


def require_arguments(key: str, kwargs: dict | None) -> None:
    """Refuse bad arguments before a run starts. Raises ConfigError: names the argument and the nearest known one."""
    module = module_of(key)
    require_parameters(f"env_args.kwargs: {key}", _main_maker(module), kwargs or {})
    for name, value in (kwargs or {}).items():
        if type(value) is int and name != "max_cycles" and not -MOST_COUNTED <= value <= MOST_COUNTED:
            raise ConfigError(f"env_args.kwargs.{name}={value}: a count of {key} is at most {MOST_COUNTED}.")
    if kwargs:
        _try_arguments(key, maker_of(key, module), kwargs)
