"""The modules that have a parallel environment, and the arguments that these take."""

import importlib.util
import inspect
import logging
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from envs.contract.arguments import in_words, not_made, require_parameters
from envs.contract.optional import require
from envs.contract.reaches import is_here
from envs.families import INSTALL_ENVS, installing
from envs.pettingzoo.turns import TurnGame
from utils.config.user_modules import imported, is_absent
from utils.errors import ConfigError
from utils.nearest import did_you_mean, suggestion
from utils.plain_values import quoted

# those that `requirements-envs.txt` installs; other modules are the user's
PACKAGES = ("mpe2", "pettingzoo")
VERSION = re.compile(r"_v\d+$")
# those whose games are found by their names alone
NAMED = (*PACKAGES, "magent2", "gymnasium_robotics")
# families that have left PettingZoo
MOVED = {"pettingzoo.mpe.": "mpe2.", "pettingzoo.magent.": "magent2.environments."}
MOVED["gymnasium_robotics.mamujoco"] = "gymnasium_robotics.envs.multiagent_mujoco.mamujoco"
log = logging.getLogger("muster")
# keys of which it has been said that another version is played
_WARNED: set[str] = set()
# PettingZoo's names of what makes an environment: one in which all act at once, and in turns
MAKERS = ("parallel_env", "env", "raw_env")
# agents, landmarks, cells: what a user of these games may count
MOST_COUNTED = 1000


def module_of(key: str) -> ModuleType:
    """The module that `env_args.key` names, or the user's file, `path/to/file.py`. Raises ConfigError: it does not
    exist, lacks a package, or has no environment."""
    # pygame, which many of them draw with, greets on standard output otherwise
    os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")
    where = f"env_args.key={quoted(key)}"
    require("pettingzoo", where)
    key = present(key)
    package = key.partition(".")[0]
    if key.endswith(".py") or is_here(package):
        module = imported(where, key)
    elif package not in PACKAGES:
        command = installing(package)
        module = imported(where, key) if command is None else require(key, where, command)
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


def present(key: str) -> str:
    """The module of a game today: of one that has moved to another package or has another version by now, and of a
    game's name alone, such as pistonball_v6. Another version is a warning; what is not to be found stays as it is."""
    if key.endswith(".py") or is_here(key.partition(".")[0]):
        return key
    moved = next((new + key.removeprefix(old) for old, new in MOVED.items() if key.startswith(old)), key)
    alone = "." not in key and bool(VERSION.search(key)) and not _is_module(key)
    package = moved.partition(".")[0]
    if not VERSION.search(moved) or (not alone and package not in PACKAGES):
        return moved
    games = [game for name in (NAMED if alone else (package,)) for game in _games_of(name)]
    named = {game: game.rpartition(".")[2] if alone else game for game in games}
    if found := [game for game, name in named.items() if name == moved]:
        return found[0]
    others = [game for game, name in named.items() if VERSION.sub("", name) == VERSION.sub("", moved)]
    if not others:
        return moved
    if key not in _WARNED:
        log.warning(f"env_args.key={key}: today's package has {others[-1]}, another version, which is played.")
        _WARNED.add(key)
    return others[-1]


def _games_of(package: str) -> list[str]:
    """The names of a package's games, none where it is not installed."""
    spec = importlib.util.find_spec(package)
    return _games(package, Path(spec.origin).parent) if spec is not None and spec.origin else []


def _makers(module: ModuleType) -> dict[str, Callable[..., Any]]:
    found = {name: getattr(module, name, None) for name in MAKERS}
    return {name: maker for name, maker in found.items() if callable(maker)}


def _is_module(key: str) -> bool:
    if key in sys.modules:
        return True
    try:
        return importlib.util.find_spec(key) is not None
    except ModuleNotFoundError as error:  # of a package that it would be in
        if is_absent(key, error):
            return False
        raise


def _games(package: str, folder: Path) -> list[str]:
    """The names of the games of a package: modules with a version."""
    paths = sorted(path.relative_to(folder).with_suffix("") for path in folder.rglob("*_v*.py"))
    return [".".join((package, *path.parts)) for path in paths if VERSION.search(path.name)]


def _command(key: str) -> str:
    """What installs all that a module needs: PettingZoo's families are its extras."""
    package, _, rest = key.partition(".")
    if package == "pettingzoo" and rest:
        return f'pip install "pettingzoo[{rest.partition(".")[0]}]"'
    return installing(package) or INSTALL_ENVS


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
    try:
        return maker_of(key, module)(**arguments)
    except (ImportError, OSError) as error:
        # of the libraries that it needs; or the ROMs of Atari, of which the error says where they come from
        missing = f". All that its family needs: {_command(module.__name__)}" if isinstance(error, ImportError) else ""
        raise ConfigError(
            f"env_args.key={quoted(key)} needs what is not installed: {in_words(error)}{missing}"
        ) from error


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
