"""`search:` in a suite's file: trials of drawn or listed settings, as one more axis of the suite.

    search:
      method: random            # or grid: every combination
      trials: 20                # of random
      seed: 1                   # of the drawing
      space:
        lr: {log_uniform: [0.0001, 0.01]}
        rnn_hidden_dim: {choice: [32, 64, 128]}
        gamma: {uniform: [0.9, 0.999]}
        batch_size: {int: [8, 64]}

Trial k is drawn from the seed and k alone: more trials change none of the first ones.
"""

import itertools
import math
from collections.abc import Iterator, Mapping
from math import prod
from typing import Any

import numpy as np

from suites.resources import require_known
from utils.config import recursive_dict_update
from utils.errors import ConfigError
from utils.options import Option
from utils.plain_values import shown

AXIS = "trial"
METHODS = ("random", "grid")
KINDS = ("choice", "uniform", "log_uniform", "int")
MOST_TRIALS = 1000
KEYS = {
    "method": Option("random", "how trials are made", choices=METHODS),
    "trials": Option(0, "how many random trials", at_least=0, at_most=MOST_TRIALS),
    "seed": Option(1, "of the drawing", at_least=0, at_most=2**31 - 1),
}
# drawn numbers stay readable
_DIGITS = 4


def trials_of(value: Any) -> dict[str, dict[str, Any]]:
    """The trials of a search, name -> nested settings, in order.

    Raises:
        ConfigError: an unknown key, method or kind of range, an impossible range, or too many trials.
    """
    require_known("search", value, (*KEYS, "space"))
    options = {key: option.checked(f"search.{key}", value.get(key, option.default)) for key, option in KEYS.items()}
    space = dict(sorted(_ranges("search.space", value.get("space"))))
    if options["method"] == "grid":
        if options["trials"]:
            raise ConfigError("search.trials: a grid has as many as its combinations; leave it out.")
        made = _grid(space)
    else:
        if not options["trials"]:
            raise ConfigError("search.trials is missing: how many random trials there are, as in trials: 20.")
        made = (_drawn(space, options["seed"], number) for number in range(1, options["trials"] + 1))
    return {f"t{number}": _nested(settings) for number, settings in enumerate(made, 1)}


def _ranges(where: str, value: Any) -> Iterator[tuple[tuple[str, ...], tuple[str, list]]]:
    """(path of a key, (kind, numbers)) of every range."""
    if not isinstance(value, Mapping) or not value:
        raise ConfigError(f"{where}={shown(value)}: expected ranges by config key, as in lr: {{uniform: [0, 1]}}.")
    for key, inner in value.items():
        if isinstance(inner, Mapping) and len(inner) == 1 and (kind := next(iter(inner))) in KINDS:
            yield (key,), (kind, _checked(f"{where}.{key}", kind, inner[kind]))
        elif isinstance(inner, Mapping) and inner and all(isinstance(one, Mapping) for one in inner.values()):
            yield from (((key, *path), one) for path, one in _ranges(f"{where}.{key}", inner))
        else:
            kinds = ", ".join(KINDS)
            raise ConfigError(f"{where}.{key}={shown(inner)}: expected one of {kinds}, as in {{choice: [1, 2]}}.")


def _checked(where: str, kind: str, bounds: Any) -> list:
    if not isinstance(bounds, list) or not bounds:
        raise ConfigError(f"{where}.{kind}={shown(bounds)}: expected a list.")
    if kind == "choice":
        return bounds
    least_type = (int,) if kind == "int" else (int, float)
    if len(bounds) != 2 or not all(type(one) in least_type and math.isfinite(one) for one in bounds):
        numbers = "whole numbers" if kind == "int" else "numbers"
        raise ConfigError(f"{where}.{kind}={shown(bounds)}: expected two {numbers}, the least and the greatest.")
    if not bounds[0] < bounds[1] or (kind == "log_uniform" and bounds[0] <= 0):
        above = " and both are above 0" if kind == "log_uniform" else ""
        raise ConfigError(f"{where}.{kind}={shown(bounds)}: the first is the smaller one{above}.")
    return bounds


def _grid(space: Mapping[tuple, tuple[str, list]]) -> list[dict[tuple, Any]]:
    for path, (kind, bounds) in space.items():
        if kind in ("uniform", "log_uniform"):
            raise ConfigError(f"search.space.{'.'.join(path)}: a grid has no {kind}; give it a choice.")
        if kind == "int" and bounds[1] - bounds[0] >= MOST_TRIALS:
            raise ConfigError(f"search.space.{'.'.join(path)}: more than {MOST_TRIALS} values.")
    values = [bounds if kind == "choice" else list(range(bounds[0], bounds[1] + 1)) for kind, bounds in space.values()]
    if (count := prod(map(len, values))) > MOST_TRIALS:
        raise ConfigError(f"search: {count} combinations; a search may have {MOST_TRIALS} trials.")
    return [dict(zip(space, chosen, strict=True)) for chosen in itertools.product(*values)]


def _drawn(space: Mapping[tuple, tuple[str, list]], seed: int, number: int) -> dict[tuple, Any]:
    rng = np.random.default_rng([seed, number])
    return {path: _value(rng, kind, bounds) for path, (kind, bounds) in space.items()}


def _value(rng: np.random.Generator, kind: str, bounds: list) -> Any:
    match kind:
        case "choice":
            return bounds[int(rng.integers(len(bounds)))]
        case "int":
            return int(rng.integers(bounds[0], bounds[1], endpoint=True))
        case "uniform":
            drawn = rng.uniform(*bounds)
        case _:
            drawn = math.exp(rng.uniform(*map(math.log, bounds)))
    return min(max(float(f"{drawn:.{_DIGITS}g}"), bounds[0]), bounds[1])


def _nested(settings: Mapping[tuple, Any]) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for path, value in settings.items():
        for key in reversed(path):
            value = {key: value}
        recursive_dict_update(made, value)
    return made
