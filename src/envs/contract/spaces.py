"""Gymnasium's spaces as words for fields, fields as spaces, and values of spaces as those of fields.

    def fields(self):
        return {
            **observations("obs", spaces.Dict(camera=spaces.Box(0, 255, (8, 8, 3), np.uint8), speed=spaces.Box(0, 9))),
            **actions("actions", spaces.Dict(steer=spaces.Box(-1, 1, (2,)), gear=spaces.Discrete(5))),
            "reward": FieldSpec("outcome", group=None),
        }

Gymnasium is needed only where spaces are used; `requirements-envs.txt` has it.
"""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from envs.contract.fields import AGENTS, Bound, FieldSpec
from envs.contract.optional import require
from envs.contract.texts import is_text, text_of
from envs.contract.validation import InvalidEnvironmentError, shaped
from utils.errors import ConfigError
from utils.plain_values import quoted

if TYPE_CHECKING:
    from gymnasium import Space

# an observation as values of its fields, and values of actions as the action of agent i
Showing = Callable[[Any], dict[str, np.ndarray]]
Acting = Callable[[Mapping[str, np.ndarray], int], Any]


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
    """The space of the field `path`, or a Dict of those below it: what one agent sees or does. Raises KeyError: no such
    field."""
    spaces = require("gymnasium.spaces", "Gymnasium's spaces")
    if path in fields:
        return _space(spaces, fields[path])
    below = {name.removeprefix(f"{path}/"): field for name, field in fields.items() if name.startswith(f"{path}/")}
    if not below:
        raise KeyError(path)
    heads = dict.fromkeys(name.split("/")[0] for name in below)
    return spaces.Dict({head: space_of(below, head) for head in heads})


def observed(path: str, space: Any, words: int = 0) -> tuple[dict[str, FieldSpec], Showing]:
    """The fields of an observation space, and what turns an observation into their values, of one agent.

    Dict and Tuple spaces give a field for each of their parts. Choices (Discrete, MultiDiscrete) are one-hot, as in
    `gymnasium.spaces.flatten`. Floats have 32 bits; pictures and other whole numbers keep their type. Texts are as
    `envs.contract.texts.text_of` says: without `words` they have no field.

    Raises, when an observation is turned into values:
        InvalidEnvironmentError: it has another form than its space, or a whole number that the space does not have.
    """
    spaces = require("gymnasium.spaces", "Gymnasium's spaces")
    if isinstance(space, spaces.Dict | spaces.Tuple):
        mapping = isinstance(space, spaces.Dict)
        named = list(space.spaces.items() if mapping else enumerate(space.spaces))
        parts = [(key, *observed(f"{path}/{key}", inner, words)) for key, inner in named]
        fields = {name: field for _, part, _ in parts for name, field in part.items()}
        return fields, lambda seen: _of_parts(path, space, parts, seen)
    if is_text(space):
        return text_of(path, words)
    if isinstance(space, spaces.Discrete | spaces.MultiDiscrete):
        fields = observations(path, spaces.Box(0, 1, (spaces.flatdim(space),), np.float32))
        one_hot = _OneHot(path, space)
        return fields, lambda seen: {path: one_hot(seen)}
    if isinstance(space, spaces.MultiBinary):
        fields = observations(path, spaces.Box(0, 1, space.shape, np.float32))
    else:
        if isinstance(space, spaces.Box):
            space = _with_floats_of_32_bits(spaces, space)
        fields = observations(path, space)
    return fields, lambda seen: {path: _array(path, space, seen)}


def acted(path: str, space: Any) -> tuple[dict[str, FieldSpec], Acting]:
    """The fields of an action space, and what turns agents' values of them into the action of agent i.

    Continuous actions are clipped to their bounds. See `actions` for the branches.
    """
    spaces = require("gymnasium.spaces", "Gymnasium's spaces")
    if isinstance(space, spaces.Dict | spaces.Tuple):
        mapping = isinstance(space, spaces.Dict)
        named = space.spaces.items() if mapping else enumerate(space.spaces)
        parts = {key: acted(f"{path}/{key}", inner) for key, inner in named}
        fields = {name: field for part, _ in parts.values() for name, field in part.items()}
        if mapping:
            return fields, lambda chosen, i: {key: act(chosen, i) for key, (_, act) in parts.items()}
        return fields, lambda chosen, i: tuple(act(chosen, i) for _, act in parts.values())
    if isinstance(space, spaces.Discrete):
        start = int(space.start)
        return actions(path, space), lambda chosen, i: start + int(chosen[path][i])
    if isinstance(space, spaces.MultiDiscrete | spaces.MultiBinary):
        fields = actions(path, space)
        start = getattr(space, "start", 0)
        return fields, lambda chosen, i: _together(chosen, i, fields, space) + start
    if not isinstance(space, spaces.Box):
        return actions(path, space), lambda chosen, i: None  # which refuses it
    fields = actions(path, _with_floats_of_32_bits(spaces, space))
    return fields, lambda chosen, i: np.clip(chosen[path][i], space.low, space.high).astype(space.dtype)


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
        first = int(space.start)
        return FieldSpec("observation", (), "int64", group, low=first, high=first + int(space.n) - 1)
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
    return _bound(space.low, partly), _bound(space.high, partly)


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
    lowest, highest = (-np.inf, np.inf) if dtype.kind == "f" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
    low, high = (np.broadcast_to(bound, field.entry_shape) for bound in field.bounds(lowest, highest, dtype))
    return spaces.Box(low, high, field.entry_shape, dtype.type)


def _of_parts(path: str, space: Any, parts: list, seen: Any) -> dict[str, np.ndarray]:
    mapping = isinstance(space.spaces, Mapping)
    if not isinstance(seen, Mapping if mapping else tuple | list) or (not mapping and len(seen) != len(parts)):
        raise _otherwise(path, space, f"is {quoted(seen)}")
    values: dict[str, np.ndarray] = {}
    for key, _, show in parts:
        if mapping and key not in seen:
            raise _otherwise(path, space, f"has no '{key}'")
        values |= show(seen[key])
    return values


class _OneHot:
    """Choices as `gymnasium.spaces.flatten` writes them: one after another, each with a single 1."""

    def __init__(self, path: str, space: Any):
        sizes = np.asarray(space.nvec if hasattr(space, "nvec") else space.n)
        self._path, self._space, self._shape, self._sizes = path, space, sizes.shape, sizes.reshape(-1)
        self._start = np.broadcast_to(space.start, self._shape).reshape(-1)
        self._offsets = np.cumsum([0, *self._sizes[:-1]])
        self._first, self._total = int(self._start[0]), int(self._sizes.sum())

    def __call__(self, seen: Any) -> np.ndarray:
        # most often it is one choice
        if type(seen) is int and not self._shape and 0 <= (index := seen - self._first) < self._total:
            values = np.zeros(self._total, np.float32)
            values[index] = 1
            return values
        chosen = shaped(f"the observation '{self._path}'", self._shape, seen).reshape(-1) - self._start
        if np.count_nonzero((chosen < 0) | (chosen >= self._sizes) | (chosen % 1 != 0)):
            raise _otherwise(self._path, self._space, f"is {quoted(seen)}")
        values = np.zeros(self._total, np.float32)
        values[self._offsets + chosen.astype(np.int64)] = 1
        return values


def _array(path: str, space: Any, seen: Any) -> np.ndarray:
    value = shaped(f"the observation '{path}'", space.shape, seen)
    if space.dtype.kind not in "iu" or value.dtype == space.dtype:
        return value
    with np.errstate(invalid="ignore"):
        whole = value.astype(space.dtype)
    # which would become other numbers of this type
    if len(wrong := value[whole != value]):
        raise _otherwise(path, space, f"has the value {wrong.flat[0]}")
    return whole


def _otherwise(path: str, space: Any, found: str) -> InvalidEnvironmentError:
    return InvalidEnvironmentError(f"the observation '{path}' {found}; its space is {quoted(str(space), 200)}")


def _together(chosen: Mapping[str, np.ndarray], i: int, paths: Mapping[str, Any], space: Any) -> np.ndarray:
    return np.array([chosen[name][i] for name in paths], dtype=space.dtype).reshape(space.shape)


def _with_floats_of_32_bits(spaces: Any, space: Any) -> Any:
    if space.dtype != np.float64:
        return space
    low, high = space.low.astype(np.float32), space.high.astype(np.float32)
    return spaces.Box(low, high, space.shape, np.float32)
