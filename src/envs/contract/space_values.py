"""Values of Gymnasium's spaces as those of declared fields, and back: what one agent sees and does."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from envs.contract.fields import FieldSpec
from envs.contract.optional import require
from envs.contract.spaces import actions, observations
from envs.contract.validation import InvalidEnvironmentError, shaped
from utils.plain_values import shown

Showing = Callable[[Any], dict[str, np.ndarray]]
Acting = Callable[[Mapping[str, np.ndarray], int], Any]


def observed(path: str, space: Any) -> tuple[dict[str, FieldSpec], Showing]:
    """The fields of an observation space, and what turns an observation into their values, of one agent.

    Dict and Tuple spaces give a field for each of their parts. Choices (Discrete, MultiDiscrete) are one-hot, as in
    `gymnasium.spaces.flatten`. Floats have 32 bits; pictures and other whole numbers keep their type.

    Raises, when an observation is turned into values:
        InvalidEnvironmentError: it has another form than its space, or a whole number that the space does not have.
    """
    spaces = require("gymnasium.spaces", "Gymnasium's spaces")
    if isinstance(space, spaces.Dict | spaces.Tuple):
        mapping = isinstance(space, spaces.Dict)
        named = list(space.spaces.items() if mapping else enumerate(space.spaces))
        parts = [(key, *observed(f"{path}/{key}", inner)) for key, inner in named]
        fields = {name: field for _, part, _ in parts for name, field in part.items()}
        return fields, lambda seen: _of_parts(path, space, parts, seen)
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

    Continuous actions are clipped to their bounds. See `envs.contract.spaces.actions` for the branches.
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


def _of_parts(path: str, space: Any, parts: list, seen: Any) -> dict[str, np.ndarray]:
    mapping = isinstance(space.spaces, Mapping)
    if not isinstance(seen, Mapping if mapping else tuple | list) or (not mapping and len(seen) != len(parts)):
        raise _otherwise(path, space, f"is {shown(seen)}")
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
            raise _otherwise(self._path, self._space, f"is {shown(seen)}")
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
    return InvalidEnvironmentError(f"the observation '{path}' {found}; its space is {shown(str(space), 200)}")


def _together(chosen: Mapping[str, np.ndarray], i: int, paths: Mapping[str, Any], space: Any) -> np.ndarray:
    return np.array([chosen[name][i] for name in paths], dtype=space.dtype).reshape(space.shape)


def _with_floats_of_32_bits(spaces: Any, space: Any) -> Any:
    if space.dtype != np.float64:
        return space
    low, high = space.low.astype(np.float32), space.high.astype(np.float32)
    return spaces.Box(low, high, space.shape, np.float32)
