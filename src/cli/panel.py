"""The control panel of a parameter file: its changes on the command line, checked, and its form in records.

Tuples and arrays are written as `{"__tuple__": true, "items": [1, 2]}` and `{"__numpy__": true, "items": [1, 2]}`.
Where the panel's own value is a tuple or an array, a list is enough.
"""

import copy
import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from utils.config.options import converted
from utils.errors import ConfigError
from utils.files.written_numbers import plain, written
from utils.nearest import suggestion
from utils.plain_values import problem_of, quoted

TUPLE, ARRAY = "__tuple__", "__numpy__"


def panel_words(text: str) -> dict[str, Any]:
    """The changes that `--cpanel` writes, a JSON object.

    Raises:
        ConfigError: it is not one; the message has the place.
    """
    try:
        changes = json.loads(
            text,
            object_pairs_hook=_without_duplicates,
            parse_constant=_refused_constant,
            parse_int=lambda number: written(int(number), number),
            parse_float=lambda number: written(float(number), number),
        )
    except json.JSONDecodeError as error:
        hint = " JSON writes true, false and null." if any(w in text for w in ("True", "False", "None")) else ""
        raise ConfigError(
            f"--cpanel {quoted(text)}: invalid JSON at character {error.pos + 1}: {error.msg}.{hint}"
        ) from None
    except RecursionError:
        raise ConfigError("--cpanel: invalid JSON: nested too deeply.") from None
    if not isinstance(changes, dict):
        raise ConfigError(f"--cpanel {quoted(text)}: expected an object, as in '{{\"lr\": 1e-3}}'.")
    if problem := problem_of(plain(changes)):
        raise ConfigError(f"--cpanel: {problem}.")
    return changes


def changed_panel(
    panel: Mapping[str, Any],
    changes: Mapping[str, Any],
    path: str = "cpanel",
    elsewhere: Mapping[str, str] | None = None,
    loose: bool = False,
) -> dict[str, Any]:
    """A copy of `panel` with changes in the types of its values.

    Args:
        elsewhere: keys that it does not have, and what to say of them.
        loose: a whole number may become one with a fraction, or None.

    Raises:
        ConfigError: an unknown key, with the nearest one, or a value of another type.
    """
    changed = copy.deepcopy(dict(panel))
    for key, value in changes.items():
        if key not in panel:
            said = (elsewhere or {}).get(key)
            hint = f" {said}" if said else suggestion(key, panel, 12)
            raise ConfigError(f"{path}.{quoted(key)}: the panel has no such key.{hint}")
        example = panel[key]
        if loose and type(example) is int and isinstance(plain(value), float | None):
            example = None
        changed[key] = _typed(f"{path}.{key}", decoded(f"{path}.{key}", value), example)
    return changed


def renamed(panel: Mapping[str, Any], former: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """A recorded panel with the present names in place of former ones."""
    return {now: value for key, value in panel.items() for now in former.get(key, (key,))}


def encoded(value: Any) -> Any:
    """A panel, or a value in it, in the form that configs record: plain values only."""
    if isinstance(value, Mapping):
        return {key: encoded(inner) for key, inner in value.items()}
    if isinstance(value, tuple):
        return {TUPLE: True, "items": [encoded(inner) for inner in value]}
    if isinstance(value, np.ndarray):
        return {ARRAY: True, "items": value.tolist()}
    if isinstance(value, np.generic):
        return value.item()
    return [encoded(inner) for inner in value] if isinstance(value, list) else value


def decoded(key: str, value: Any) -> Any:
    """The opposite of `encoded`.

    Raises:
        ConfigError: `items` is missing, or not a list; or no array can be made of them.
    """
    if isinstance(value, list):
        return [decoded(key, inner) for inner in value]
    if not isinstance(value, Mapping):
        return value
    kind = next((mark for mark in (TUPLE, ARRAY) if mark in value), None)
    if kind is None:
        return {name: decoded(f"{key}.{name}", inner) for name, inner in value.items()}
    if set(value) != {kind, "items"} or value[kind] is not True or not isinstance(value["items"], list):
        raise ConfigError(f'{key}={quoted(json.dumps(value))}: expected {{"{kind}": true, "items": [...]}}.')
    items = [decoded(key, inner) for inner in value["items"]]
    return tuple(items) if kind == TUPLE else _array(key, items, None)


def _typed(key: str, value: Any, example: Any) -> Any:
    if isinstance(example, Mapping):
        if not isinstance(value, Mapping):
            raise ConfigError(f"{key}={quoted(str(value))}: expected a mapping of keys to values.")
        return changed_panel(example, value, key) if example else plain(value)
    if isinstance(example, np.ndarray):
        return _array(key, value, example.dtype)
    if isinstance(value, np.ndarray):
        value = value.tolist()
    typed = plain(converted(key, value, example))
    if isinstance(example, tuple):
        return tuple(typed)
    return float(typed) if isinstance(example, float) else typed


def _array(key: str, items: Any, dtype: Any) -> np.ndarray:
    try:
        array = np.asarray(items, dtype)
    except (ValueError, TypeError, OverflowError):
        array = np.asarray(None)
    if array.dtype.kind not in "biuf":
        raise ConfigError(f"{key}={quoted(str(items))}: expected an array of numbers, with rows of one length.")
    return array


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [key for key, _ in pairs]
        twice = next(key for key in names if names.count(key) > 1)
        raise ConfigError(f"--cpanel: the key '{quoted(twice)}' is written twice.")
    return found


def _refused_constant(text: str) -> Any:
    raise ConfigError(f"--cpanel: {text} is not a finite number.")
