"""What follows `with`, and the values of Sacred's options, seen through before Sacred reads them.

Sacred would load a pickle that is named after `with`, and its serialiser calls what a mapping with the key `py/reduce`
names. What is let through here is plain values only, so that no setting can run code.
"""

import ast
import math
from collections.abc import Callable, Sequence
from typing import Any

from utils.errors import ConfigError
from utils.plain_values import problem_of, problem_of_key, shown

LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")
CAPTURE_MODES = ("no", "sys", "fd")


def check_settings(words: Sequence[str]) -> None:
    """Refuse settings that are none.

    Args:
        words: what stands after `with`.

    Raises:
        ConfigError: the first that is not KEY=VALUE with a plain value, or that contradicts one before.
    """
    settings: dict = {}
    for word in filter(None, words):
        path, equals, text = word.partition("=")
        if not equals:
            raise ConfigError(
                f"'{shown(word)}' after 'with' is no setting; these are KEY=VALUE. "
                "A config file of your own goes to --config or --env-config."
            )
        keys, value = path.strip().split("."), setting_value(text)
        for key in keys:
            if problem := problem_of_key(key):
                raise ConfigError(f"'{shown(word)}' after 'with': {problem}.")
        if problem := problem_of(value):
            raise ConfigError(f"{path.strip()}={shown(text)}: {problem}.")
        _set(settings, keys, value, word)


def setting_value(text: str) -> Any:
    """The value that Sacred takes a setting's text for: a Python literal, or else the text itself."""
    text = text.strip()
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text
    except (TypeError, MemoryError, RecursionError):
        raise ConfigError(f"The setting {shown(text)} is no value: a list or mapping in it cannot be.") from None


def _set(settings: dict, keys: list[str], value: Any, word: str) -> None:
    for depth, key in enumerate(keys[:-1], 1):
        settings = settings.setdefault(key, {})
        if not isinstance(settings, dict):
            raise ConfigError(
                f"'{shown(word)}' contradicts what stands before it: {'.'.join(keys[:depth])}={shown(settings)}."
            )
    settings[keys[-1]] = value


def check_option(option: str, value: str) -> None:
    """Refuse a value that Sacred's option cannot have.

    Raises:
        ConfigError: it says what it can be.
    """
    for options, allowed, description in OPTION_VALUES:
        if option in options and not allowed(value):
            raise ConfigError(f"{option} {shown(value)}: it has to be {description}.")


def _number(least: float) -> Callable[[str], bool]:
    def allowed(text: str) -> bool:
        try:
            return math.isfinite(float(text)) and float(text) >= least
        except ValueError:
            return False

    return allowed


def _is_level(text: str) -> bool:
    return text in LEVELS or (text.isascii() and text.isdigit() and len(text) < 4)


OPTION_VALUES = (
    (("-l", "--loglevel"), _is_level, f"one of {', '.join(LEVELS)}, or a number"),
    (("-C", "--capture"), CAPTURE_MODES.__contains__, f"one of {', '.join(CAPTURE_MODES)}"),
    (("-b", "--beat-interval"), _number(0.01), "a number of seconds, 0.01 or more"),
    (("-P", "--priority"), _number(-math.inf), "a number"),
    (("-n", "--name", "-c", "--comment"), str.isprintable, "text that can be shown"),
)
