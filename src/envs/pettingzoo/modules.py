"""The modules that have a parallel environment, and the arguments that these take."""

import inspect
import os
from types import ModuleType
from typing import Any

from envs.optional import require
from utils.errors import ConfigError
from utils.nearest import suggestion
from utils.plain_values import shown

# agents, landmarks, cells: what a user of these games may count
MOST_COUNTED = 1000


def module_of(key: str) -> ModuleType:
    """The module that `env_args.key` names.

    Raises:
        ConfigError: it does not exist, or has no `parallel_env`.
    """
    # pygame, which many of them draw with, greets on standard output otherwise
    os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")
    require("pettingzoo", f"env_args.key={key}")
    parent = require(key.rpartition(".")[0] or key, f"env_args.key={key}")
    try:
        module = require(key, f"env_args.key={key}")
    except ConfigError:
        import pkgutil

        siblings = [f"{parent.__name__}.{m.name}" for m in pkgutil.iter_modules(getattr(parent, "__path__", []))]
        raise ConfigError(f"env_args.key: there is no module '{key}'.{suggestion(key, siblings)}") from None
    if not hasattr(module, "parallel_env"):
        raise ConfigError(
            f"env_args.key: the module '{key}' has no parallel_env, so it is not a PettingZoo environment."
        )
    return module


def made(key: str, time_limit: int, kwargs: dict[str, Any] | None) -> Any:
    """The module's environment; its own limit on steps, if it has one, is `time_limit` unless `kwargs` have another."""
    module, arguments = module_of(key), dict(kwargs or {})
    if "max_cycles" in _parameters(module):
        arguments.setdefault("max_cycles", time_limit)
    return module.parallel_env(**arguments)


def _parameters(module: ModuleType) -> dict[str, inspect.Parameter]:
    """The parameters of `parallel_env`, or of `raw_env`, to which it often passes everything."""
    return dict(inspect.signature(getattr(module, "raw_env", module.parallel_env)).parameters)


def _try_arguments(key: str, module: ModuleType, kwargs: dict) -> None:
    """Make an environment with them, which checks them best; an error names the invalid ones."""
    try:
        module.parallel_env(**kwargs).close()
    except Exception as error:
        alone = [name for name in kwargs if not _makes_one(module, {name: kwargs[name]})]
        given = ", ".join(f"{name}={shown(repr(kwargs[name]))}" for name in alone or kwargs)
        raise ConfigError(
            f"env_args.kwargs: {key} cannot be made with {given}: {type(error).__name__}: {shown(str(error), 300)}"
        ) from error


def _makes_one(module: ModuleType, kwargs: dict) -> bool:
    try:
        module.parallel_env(**kwargs).close()
    except Exception:
        return False
    return True


def require_arguments(key: str, time_limit: int, kwargs: dict | None) -> None:
    """Refuse bad arguments before a run starts.

    Raises:
        ConfigError: names the argument and the nearest known one.
    """
    module = module_of(key)
    if time_limit < 1:
        raise ConfigError(f"env_args.time_limit is {time_limit}; it must be at least 1.")
    parameters = _parameters(module)
    if not any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
        for name in kwargs or {}:
            if name not in parameters:
                raise ConfigError(f"env_args.kwargs: {key} takes no '{name}'.{suggestion(name, parameters)}")
    for name, value in (kwargs or {}).items():
        if type(value) is int and name != "max_cycles" and not -MOST_COUNTED <= value <= MOST_COUNTED:
            raise ConfigError(f"env_args.kwargs.{name}={value}: a count of {key} is at most {MOST_COUNTED}.")
    if kwargs:
        _try_arguments(key, module, kwargs)
