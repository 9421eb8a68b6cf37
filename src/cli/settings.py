"""The words after `with`, and the values of Sacred's options, checked before Sacred reads them.

Sacred would load a pickle that is named after `with`, and its serialiser calls the function that a mapping with the key
`py/reduce` names. These checks pass plain values only: no setting can run code.
"""

import ast
import importlib.util
import math
import re
import socket
from collections.abc import Callable, Sequence
from typing import Any

from utils.config.renamed_keys import require_one_value, with_new_names
from utils.errors import ConfigError
from utils.plain_values import problem_of, problem_of_key, quoted

LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")
# seconds
SERVER_TIMEOUT = 3.0
OPTION_PACKAGES = {
    ("-m", "--mongo_db"): "pymongo",
    ("-t", "--tiny_db"): "tinydb",
    ("-s", "--sql"): "sqlalchemy",
    ("-S", "--s3"): "boto3",
}
CAPTURE_MODES = ("no", "sys", "fd")


def check_settings(words: Sequence[str]) -> dict:
    """The settings as a nested mapping; invalid ones are refused.

    Args:
        words: those after `with`.

    Raises:
        ConfigError: the first that is not KEY=VALUE with a plain value, or that contradicts one before.
    """
    settings: dict = {}
    for word in filter(None, with_new_keys(words)):
        path, equals, text = word.partition("=")
        if not equals:
            raise ConfigError(
                f"'{quoted(word)}' after 'with' is not a setting of the form KEY=VALUE. "
                "Your own config file goes to --config or --env-config."
            )
        keys, value = path.strip().split("."), setting_value(text)
        for key in keys:
            if problem := problem_of_key(key):
                raise ConfigError(f"'{quoted(word)}' after 'with': {problem}.")
        if type(value) is int and problem_of(value) and _is_text(path.strip()):
            value = text.strip()  # of more digits than a number may have
        if problem := problem_of(value):
            raise ConfigError(f"{path.strip()}={quoted(text)}: {problem}.")
        _set(settings, keys, value, word)
    return settings


def _is_text(key: str) -> bool:
    # imported here: most settings are plain, and pages need no options
    from checks.options import declared

    option = declared().get(key)
    return option is not None and option.is_text


def texts_as_typed(words: Sequence[str]) -> dict[str, str]:
    """How those settings were typed that are no text, nor nothing (None): "a.b" -> text.

    Args:
        words: those after `with`, checked.
    """
    texts: dict[str, str] = {}
    for word in filter(None, with_new_keys(words)):
        path, _, text = word.partition("=")
        key = ".".join(path.strip().split("."))
        texts.pop(key, None)
        if not isinstance(setting_value(text), str | None):
            texts[key] = text.strip()
    return texts


def with_new_keys(words: Sequence[str]) -> list[str]:
    """The words after `with` under the present names of keys and values (`utils.config.renamed_keys`).

    What EPyMARL's keys stand for follows them, unless it is typed, too.

    Raises:
        ConfigError: a key has different values under its two names.
    """
    renamed: list[str] = []
    typed = {tuple(word.partition("=")[0].strip().split(".")) for word in words}
    given: dict[tuple[str, ...], tuple[list[str], Any]] = {}
    for word in words:
        path, equals, text = word.partition("=")
        keys = path.strip().split(".")
        old: Any = setting_value(text)
        if not equals or problem_of(old) is not None:  # refused later
            renamed.append(word)
            continue
        named: Any = with_new_names(_nested(keys, old))
        rooms: list[str] = []
        while named and len(rooms) < len(keys) - 1:
            ((key, named),) = named.items()
            rooms.append(key)
        if not named:  # a former key without effect
            continue
        (last, named), *others = named.items()
        new_keys = [*rooms, last]
        before, value = given.setdefault(tuple(new_keys), (keys, old))
        if before != keys:
            require_one_value(before[-1], value, keys[-1], old)
        same = new_keys == keys and named == old
        renamed.append(word if same else f"{'.'.join(new_keys)}={text if named == old else repr(named)}")
        renamed += [f"{'.'.join([*rooms, key])}={own!r}" for key, own in others if (*rooms, key) not in typed]
    return renamed


def _nested(keys: Sequence[str], value: Any) -> dict[str, Any]:
    for key in reversed(keys):
        value = {key: value}
    return value


def setting_value(text: str) -> Any:
    """The value that Sacred takes a setting's text for: a Python literal, or else the text itself."""
    text = text.strip()
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text
    except (TypeError, MemoryError, RecursionError):
        raise ConfigError(
            f"The setting {quoted(text)} is not a valid value: it contains a list or mapping as a key or set member."
        ) from None


def _set(settings: dict, keys: list[str], value: Any, word: str) -> None:
    for depth, key in enumerate(keys[:-1], 1):
        settings = settings.setdefault(key, {})
        if not isinstance(settings, dict):
            raise ConfigError(
                f"'{quoted(word)}' contradicts an earlier setting: {'.'.join(keys[:depth])}={quoted(settings)}."
            )
    settings[keys[-1]] = value


def check_option(option: str, value: str) -> None:
    """Refuse a value that Sacred's option cannot have.

    Raises:
        ConfigError: invalid; the message describes valid values.
    """
    package = next((package for options, package in OPTION_PACKAGES.items() if option in options), None)
    if package is not None and importlib.util.find_spec(package) is None:
        raise ConfigError(
            f"{option} needs the package '{package}', which is not installed. Install it with: pip install {package}"
        )
    if option in ("-m", "--mongo_db"):
        _check_server(option, value)
    for options, allowed, description in OPTION_VALUES:
        if option in options and not allowed(value):
            raise ConfigError(f"{option} {quoted(value)}: it must be {description}.")


def _check_server(option: str, value: str) -> None:
    """Refuse a database of Sacred's option -m that cannot be reached; Sacred would wait for a minute and more."""
    match = re.fullmatch(r"(?:([\w.-]+):(\d{1,5}):)?[\w-]+(?:\.[\w-]+)?(?::[\w-]+)?(?:!-?\d+)?", value)
    if match is None:
        raise ConfigError(
            f"{option} {quoted(value)}: it must be HOST:PORT:DATABASE or DATABASE. "
            "The key mongo_url takes a URL and does not need a running server."
        )
    host, port = match.group(1) or "localhost", int(match.group(2) or 27017)
    try:
        socket.create_connection((host, port), timeout=SERVER_TIMEOUT).close()
    except (OSError, OverflowError) as error:
        raise ConfigError(
            f"{option} {quoted(value)}: no server answers at {host}:{port} ({error}). "
            "The key mongo_url retries during the run."
        ) from None


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
