"""The user's environments of entities, by name or by file, with their arguments; and what their code raises."""

import inspect
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any

from envs.contract.arguments import in_words, not_made, require_parameters
from envs.contract.validation import InvalidEnvironmentError
from envs.entities.entity_gym_names import alias_entity_gym
from envs.entities.environment import Environment
from envs.entities.games import GAMES
from envs.entities.gymnasium_entity import PREFIX, GymnasiumEntity
from utils.config.user_modules import imported
from utils.errors import ConfigError, MusterError
from utils.nearest import suggestion
from utils.plain_values import quoted


def class_of(environment: Any) -> Callable[..., Environment]:
    """The class of a shipped game, or of `path/to/file.py:ClassName` or `module:ClassName`; `gymnasium:Id` makes that.
    Raises ConfigError: there is none; or see `environment_class`."""
    if not isinstance(environment, str):
        raise ConfigError(f"env_args.environment is {quoted(environment)}; it must be a name or a file's class.")
    if environment in GAMES:
        return GAMES[environment]
    if environment.startswith(PREFIX):
        return partial(GymnasiumEntity, environment.removeprefix(PREFIX))
    if ":" not in environment:
        raise ConfigError(
            f"env_args.environment: there is no game '{quoted(environment)}'.{suggestion(environment, GAMES)} "
            "One's own is path/to/file.py:ClassName, and Gymnasium's is gymnasium:Id."
        )
    return environment_class(environment)


def made(environment: str, kwargs: Mapping[str, Any] | None) -> Environment:
    """An environment with these arguments. Raises ConfigError: it cannot be made of them."""
    cls, kwargs = class_of(environment), dict(kwargs or {})
    name = getattr(cls, "__name__", environment)
    require_parameters(f"env_args.kwargs: {name}", cls, kwargs)
    try:
        return cls(**kwargs)
    except ConfigError:
        raise
    except Exception as error:  # the user's constructor may raise anything
        raise not_made(f"env_args.kwargs: {name}", kwargs, error) from error


def environment_class(name: str) -> type[Environment]:
    """The class `path/to/file.py:ClassName` or `module:ClassName`. `entity_gym.env` is `envs.entities` for the file.
    Raises ConfigError: there is no such file or class, importing it fails, or it is no `Environment`."""
    module, _, class_name = name.rpartition(":")
    if not module or not class_name:
        raise ConfigError(f"environment={quoted(name)}: expected path/to/file.py:ClassName or module:ClassName.")
    alias_entity_gym()
    found = vars(imported("environment", module))
    chosen = found.get(class_name)
    if isinstance(chosen, type) and issubclass(chosen, Environment):
        return chosen
    if chosen is not None:
        raise ConfigError(f"environment: '{class_name}' of '{module}' is no subclass of entity_gym.env.Environment.")
    classes = [key for key, value in found.items() if _is_own_environment(value, found["__name__"])]
    raise ConfigError(f"environment: '{module}' has no class '{quoted(class_name)}'.{suggestion(class_name, classes)}")


def _is_own_environment(value: object, module: str) -> bool:
    return isinstance(value, type) and issubclass(value, Environment) and value.__module__ == module


@contextmanager
def asked(env: Environment, when: str) -> Iterator[None]:
    """A context in which an environment's methods are called before a run starts.

    Args:
        when: what it is asked for, as in "GoldRush, in random play: ...".

    Raises:
        InvalidEnvironmentError: it raised something.
    """
    try:
        yield
    except InvalidEnvironmentError:
        raise
    except Exception as error:
        what = str(error) if isinstance(error, MusterError) else f"{in_words(error)}{_place(env, error)}"
        raise InvalidEnvironmentError(f"{type(env).__name__}, {when}: {what}") from error


def _place(env: Environment, error: Exception) -> str:
    """The last line of the environment's file that led to the error."""
    try:
        file = inspect.getfile(type(env))
    except (OSError, TypeError):
        return ""
    lines = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file]
    return f" ({lines[-1].filename}, line {lines[-1].lineno}, in {lines[-1].name})" if lines else ""
