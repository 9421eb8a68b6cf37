"""Numbers among an environment's arguments, and their bounds."""

from collections.abc import Container, Mapping
from typing import Any

from utils.errors import ConfigError
from utils.plain_values import shown


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
        raise ConfigError(f"{where} is {shown(value)}; it must be a {word} from {least:.15g} to {most:.15g}.")


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
