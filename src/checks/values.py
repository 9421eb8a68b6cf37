"""Is every value of the type and in the range that its key declares? Text is taken as it was written."""

import contextlib
import copy
import inspect
import math
from collections.abc import Mapping
from typing import Any

from checks.options import declared
from envs import REGISTRY
from utils.config.merging import flatten, recursive_dict_update
from utils.config.options import Option
from utils.errors import ConfigError
from utils.plain_values import quoted
from vector_envs.instances import env_parameters

# of the arguments of environments, whose units are unknown
AT_MOST_ENV_ARGUMENT = 10**6
# the user's own text, which names nothing and is shown nowhere but in Sacred's record
ANY_TEXT = ("label", "message")


def normalised(config: dict) -> dict:
    """Return `config` with every declared key in its type: `2e6` for a whole number becomes 2000000.

    Raises:
        ConfigError: a value of another type, or outside its range.
    """
    config = copy.deepcopy(config)
    if "critic_lr" in config and config["critic_lr"] is None:
        config["critic_lr"] = config["lr"]
    for key, option in declared(config).items():
        if key in config:
            config[key] = option.checked(key, config[key])
    if config["overlap"]:  # the older name of this choice
        config["collection"] = "async"
    for key, value in flatten(config).items():
        if isinstance(value, str) and not value.isprintable() and key not in ANY_TEXT:
            raise ConfigError(f"{key}={quoted(value)}: it contains unprintable characters.")
    return config


def require_bounded(key: str, value: Any) -> None:
    """Refuse numbers in the arguments of an environment, nested ones too, that are beyond anything they could count.

    Raises:
        ConfigError: a number that is not finite, or a whole one larger in size than `AT_MOST_ENV_ARGUMENT`.
    """
    if isinstance(value, dict):
        for name, inner in value.items():
            require_bounded(f"{key}.{name}", inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            require_bounded(key, inner)
    elif isinstance(value, float) and not math.isfinite(value):
        raise ConfigError(f"{key}={quoted(value)}: it must be a finite number.")
    elif isinstance(value, int) and abs(value) > AT_MOST_ENV_ARGUMENT:
        raise ConfigError(f"{key}={quoted(value)}: integers may be at most {AT_MOST_ENV_ARGUMENT}.")


def as_written(config: Mapping[str, Any], values: Mapping[str, Any], texts: Mapping[str, str]) -> dict[str, Any]:
    """`values` with the texts of the keys that `config` takes as text: `name=123_456` is no number there.

    Args:
        config: merged; its environment and parts decide what their keys are.
        values: nested; all of `config`, or a part of it.
        texts: "a.b" -> how a value of `values` was written that is no text otherwise: 1e5, True, (1, 2).
    """
    changes: dict[str, Any] = {}
    options = declared(config) if texts else {}
    for path, text in texts.items():
        *above, key = path.split(".")
        place: dict[str, Any] = changes
        found: Any = values
        for name in above:
            found = found.get(name) if isinstance(found, Mapping) else None
        if isinstance(found, Mapping) and key in found and _is_text(config, options, above, key):
            for name in above:
                place = place.setdefault(name, {})
            place[key] = text
    return recursive_dict_update(recursive_dict_update({}, values), changes)


def _is_text(config: Mapping[str, Any], options: Mapping[str, Option], above: list[str], key: str) -> bool:
    match above:
        case []:
            return key in options and options[key].is_text
        case ["teams", _]:
            return _is_text(config, options, [], key)
        case ["env_args"]:
            return _is_text_of_environment(config, key)
        case [top] if top in options and isinstance(options[top].example, Mapping):
            return isinstance(options[top].example.get(key), str)
    return False


def _is_text_of_environment(config: Mapping[str, Any], key: str) -> bool:
    """Whether the constructor's default or, without one, its annotation says so."""
    parameter = None
    with contextlib.suppress(Exception):  # it is refused later, with the reason
        parameter = (env_parameters(REGISTRY[config["env"]]) or {}).get(key)
    if parameter is None:
        return False
    if parameter.default not in (None, inspect.Parameter.empty):
        return isinstance(parameter.default, str)
    return parameter.annotation in (str, "str", str | None, "str | None", "Optional[str]")
