"""Keys whose values are text take it as it was written: `name=123_456` and `run_name=1e5` are no numbers there."""

import contextlib
import inspect
from collections.abc import Mapping
from typing import Any

from checks.options import declared
from envs import REGISTRY
from utils.config.merging import recursive_dict_update
from utils.config.options import Option
from vector_envs.instances import env_parameters


def as_written(config: Mapping[str, Any], values: Mapping[str, Any], texts: Mapping[str, str]) -> dict[str, Any]:
    """`values` with the texts of the keys that `config` takes as text.

    Args:
        config: merged; its environment and parts decide what their keys are.
        values: nested; all of `config`, or a part of it.
        texts: "a.b" -> how a value of `values` was written that is no text otherwise: 1e5, True, (1, 2).
    """
    changes: dict[str, Any] = {}
    options = declared(config) if texts else {}
    for path, text in texts.items():
        *above, key = path.split(".")
        place, found = changes, values
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
