"""Checks of an environment's arguments: numbers, choices, and those that are the fields of a dataclass."""

import inspect
from collections.abc import Callable, Collection, Container, Iterable, Mapping
from dataclasses import MISSING, fields
from traceback import extract_tb
from typing import Any

from utils.errors import ConfigError
from utils.nearest import suggestion
from utils.plain_values import quoted

# of an entry, a group, an episode: NumPy, torch and numba count in 32 bits here and there
LARGEST = 2**31 - 1


def require_number(where: str, value: Any, least: float, most: float, whole: bool = False) -> None:
    """Refuse what is not a number from `least` to `most`, truth values included.

    Args:
        where: the key, for the message.
        whole: floats are refused, too.

    Raises:
        ConfigError: with the key, the value and what is allowed.
    """
    kind = int if whole else int | float
    if isinstance(value, bool) or not isinstance(value, kind) or not least <= value <= most:
        word = "whole number" if whole else "number"
        raise ConfigError(f"{where} is {quoted(value)}; it must be a {word} from {least:.15g} to {most:.15g}.")


def require_numbers(options: Any, bounds: Mapping[str, tuple[float, float]], whole: Container[str] = ()) -> None:
    """`require_number` for the attributes of an environment's options.

    Args:
        bounds: attribute -> the least and the most; messages call it `env_args.<attribute>`.
        whole: attributes that are whole numbers.

    Raises:
        ConfigError: the first one that is invalid.
    """
    for key, (least, most) in bounds.items():
        require_number(f"env_args.{key}", getattr(options, key), least, most, key in whole)


def require_choice(where: str, value: Any, allowed: Collection[Any]) -> None:
    """Refuse what is not one of the `allowed` values. Raises ConfigError: with the key, the value, the nearest of them
    and all."""
    if value not in [*allowed]:
        raise ConfigError(f"{where} is '{quoted(value)}'.{suggestion(str(value), allowed)}")


def in_words(error: Exception) -> str:
    """An error that a package or code of the user's raised; one without a text by where that was."""
    name, text = type(error).__name__, str(error)
    if text or not (places := extract_tb(error.__traceback__)):
        return f"{name}: {quoted(text, 300)}"
    return f"{name} in line {places[-1].lineno} of {quoted(places[-1].filename, 300)}"


def not_made(what: str, given: Mapping[str, Any], error: Exception) -> ConfigError:
    """What to raise where a constructor raised an error with these arguments."""
    arguments = ", ".join(f"{name}={quoted(repr(value))}" for name, value in given.items())
    return ConfigError(f"{what} cannot be made{f' with {arguments}' if arguments else ''}: {in_words(error)}")


def signature_of(options: type) -> inspect.Signature:
    """The fields as arguments of a constructor, to check a config's `env_args` against."""
    parameters = []
    for field in fields(options):
        default = field.default if field.default_factory is MISSING else field.default_factory()
        kind = inspect.Parameter.KEYWORD_ONLY
        parameters.append(inspect.Parameter(field.name, kind, default=default, annotation=field.type))
    return inspect.Signature(parameters)


def require_known(env: str, options: type, given: Iterable[str]) -> None:
    """Refuse arguments of the environment `env` that are not fields of its options. Raises ConfigError: the argument
    and the nearest field."""
    known = [field.name for field in fields(options)]
    for key in given:
        if key not in known:
            raise ConfigError(f"env_args.{key}: {env} has no such argument.{suggestion(key, known)}")


def require_parameters(where: str, maker: Callable[..., Any], given: Iterable[str], before: int = 0) -> None:
    """Refuse arguments of a constructor that it does not have, unless it takes any.

    Args:
        where: the key and what is made, for the message.
        before: so many of its parameters are not the user's.

    Raises:
        ConfigError: the argument and the nearest parameters.
    """
    parameters = inspect.signature(maker).parameters
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values()):
        return
    known = list(parameters)[before:]
    for name in given:
        if name not in known:
            raise ConfigError(f"{where} takes no '{quoted(name)}'.{suggestion(str(name), known)}")
