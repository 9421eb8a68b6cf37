"""Gymnasium's spaces as words for fields, and fields as spaces.

    def fields(self):
        return {
            **observations("obs", spaces.Dict(camera=spaces.Box(0, 255, (8, 8, 3), np.uint8), speed=spaces.Box(0, 9))),
            **actions("actions", spaces.Dict(steer=spaces.Box(-1, 1, (2,)), gear=spaces.Discrete(5))),
            "reward": FieldSpec("outcome", group=None),
        }

Gymnasium is needed only where spaces are used; `requirements-envs.txt` has it.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from envs.contract.fields import AGENTS, Bound, FieldSpec
from envs.contract.optional import require
from utils.errors import ConfigError

if TYPE_CHECKING:
    from gymnasium import Space


def observations(path: str, space: "Space", group: str | None = AGENTS) -> dict[str, FieldSpec]:
    """The observations that a space describes, for each agent of `group` or for the environment (None).

    A Dict or Tuple gives a field for each of its parts, `<path>/<key>`; Discrete(n) is a whole number below n,
    MultiDiscrete and MultiBinary are arrays of whole numbers.

    Raises:
        ConfigError: a space without a fixed shape, such as Sequence; declare `FieldSpec(capacity=...)` instead.
    """
    return {name: _observation(name, part, group) for name, part in _parts(path, space)}


def actions(path: str, space: "Space", group: str = AGENTS) -> dict[str, FieldSpec]:
    """The actions that a space describes, for each agent of `group`.

    Discrete(n) is one choice and Box one continuous action; Dict, Tuple, MultiDiscrete and MultiBinary give a branch
    for each of their parts, `<path>/<key>`. Choices are counted from 0: an environment adds `start` itself.

    Raises:
        ConfigError: another kind of space.
    """
    return {name: _action(name, part, group) for name, part in _parts(path, space, branches=True)}


def space_of(fields: Mapping[str, FieldSpec], path: str) -> "Space":
    """The space of the field `path`, or a Dict of those below it: what one agent sees or does.

    Raises:
        KeyError: no such field.
    """
    spaces = require("gymnasium.spaces", "Gymnasium's spaces")
    if path in fields:
        return _space(spaces, fields[path])
    below = {name.removeprefix(f"{path}/"): field for name, field in fields.items() if name.startswith(f"{path}/")}
    if not below:
        raise KeyError(path)
    heads = dict.fromkeys(name.split("/")[0] for name in below)
    return spaces.Dict({head: space_of(below, head) for head in heads})


def _parts(path: str, space: "Space", branches: bool = False) -> list[tuple[str, "Space"]]:
    spaces = require("gymnasium.spaces", "Gymnasium's spaces")
    if isinstance(space, spaces.Dict | spaces.Tuple):
        named = space.spaces.items() if isinstance(space, spaces.Dict) else enumerate(space.spaces)
        return [part for key, inner in named for part in _parts(f"{path}/{key}", inner, branches)]
    if branches and isinstance(space, spaces.MultiDiscrete):
        return [(f"{path}/{k}", spaces.Discrete(int(n))) for k, n in enumerate(space.nvec.reshape(-1))]
    if branches and isinstance(space, spaces.MultiBinary):
        return [(f"{path}/{k}", spaces.Discrete(2)) for k in range(int(np.prod(space.shape)))]
    return [(path, space)]


def _observation(path: str, space: "Space", group: str | None) -> FieldSpec:
    spaces = require("gymnasium.spaces", "Gymnasium's spaces")
    if isinstance(space, spaces.Discrete):
        low = int(space.start)
        return FieldSpec("observation", (), "int64", group, low=low, high=low + int(space.n) - 1)
    if isinstance(space, spaces.Box | spaces.MultiDiscrete | spaces.MultiBinary):
        low, high = _bounds(space) if isinstance(space, spaces.Box) else (None, None)
        return FieldSpec("observation", space.shape, space.dtype.name, group, low=low, high=high)
    raise ConfigError(
        f"The observation '{path}' is the space {type(space).__name__}; fields are made of Box, Discrete, "
        "MultiDiscrete, MultiBinary, and of Dict and Tuple of these. Of a Sequence, FieldSpec(capacity=...) declares "
        "the most rows."
    )


def _action(path: str, space: "Space", group: str) -> FieldSpec:
    spaces = require("gymnasium.spaces", "Gymnasium's spaces")
    if isinstance(space, spaces.Discrete):
        return FieldSpec("action", (), "int64", group, n=int(space.n))
    if isinstance(space, spaces.Box):
        low, high = _bounds(space, partly=True)
        return FieldSpec("action", space.shape, space.dtype.name, group, low=low, high=high)
    raise ConfigError(
        f"The action '{path}' is the space {type(space).__name__}; actions are made of Discrete, Box, MultiDiscrete, "
        "MultiBinary, and of Dict and Tuple of these."
    )


def _bounds(space: Any, partly: bool = False) -> tuple[Bound, Bound]:
    """Both bounds, one number where all are equal; None unless all are finite or, with `partly`, if none is."""
    return tuple(_bound(limits, partly) for limits in (space.low, space.high))


def _bound(limits: np.ndarray, partly: bool) -> Bound:
    finite = np.isfinite(limits)
    if not (finite.any() if partly else finite.all()):
        return None
    numbers = tuple(float(limit) for limit in limits.reshape(-1))
    return numbers[0] if len(set(numbers)) == 1 else numbers


def _space(spaces: Any, field: FieldSpec) -> "Space":
    if field.categorical:
        return spaces.Discrete(field.n)
    dtype = np.dtype(field.dtype)
    if dtype.kind == "b":
        return spaces.MultiBinary(field.entry_shape)
    unbounded = (-np.inf, np.inf) if dtype.kind == "f" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
    low, high = (
        np.broadcast_to(
            np.reshape(other if bound is None else bound, field.shape if np.ndim(bound) else ()), field.entry_shape
        )
        for bound, other in zip((field.low, field.high), unbounded, strict=True)
    )
    return spaces.Box(low.astype(dtype), high.astype(dtype), field.entry_shape, dtype.type)
