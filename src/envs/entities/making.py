"""The user's environments of entities, by name or by file, with their arguments."""

import inspect
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from envs.entities.environment import Environment
from envs.entities.games import GAMES
from envs.entities.gymnasium_entity import PREFIX, GymnasiumEntity
from envs.entities.loading import environment_class
from utils.errors import ConfigError
from utils.nearest import suggestion
from utils.plain_values import shown


def class_of(environment: Any) -> Callable[..., Environment]:
    """The class of a shipped game, or of `path/to/file.py:ClassName` or `module:ClassName`; `gymnasium:Id` makes that.

    Raises:
        ConfigError: there is none; or see `environment_class`.
    """
    if not isinstance(environment, str):
        raise ConfigError(f"env_args.environment is {shown(environment)}; it must be a name or a file's class.")
    if environment in GAMES:
        return GAMES[environment]
    if environment.startswith(PREFIX):
        return partial(GymnasiumEntity, environment.removeprefix(PREFIX))
    if ":" not in environment:
        raise ConfigError(
            f"env_args.environment: there is no game '{shown(environment)}'.{suggestion(environment, GAMES)} "
            "One's own is path/to/file.py:ClassName, and Gymnasium's is gymnasium:Id."
        )
    return environment_class(environment)


def made(environment: str, kwargs: Mapping[str, Any] | None) -> Environment:
    """An environment with these arguments.

    Raises:
        ConfigError: it cannot be made of them.
    """
    cls, kwargs = class_of(environment), dict(kwargs or {})
    name = getattr(cls, "__name__", environment)
    parameters = inspect.signature(cls).parameters
    if not any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values()):
        for key in kwargs:
            if key not in parameters:
                raise ConfigError(f"env_args.kwargs.{key}: {name} has no such argument.{suggestion(key, parameters)}")
    try:
        return cls(**kwargs)
    except ConfigError:
        raise
    except Exception as error:  # the user's constructor may raise anything
        given = ", ".join(f"{key}={shown(value)}" for key, value in kwargs.items()) or "no arguments"
        raise ConfigError(
            f"env_args.kwargs: {name} cannot be made of {given}: {type(error).__name__}: {shown(str(error), 300)}"
        ) from error
