"""Values of Gymnasium's spaces as those of declared fields, and back: what one agent sees and does."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from envs.fields import FieldSpec
from envs.optional import require
from envs.spaces import actions, observations

Showing = Callable[[Any], dict[str, np.ndarray]]
Acting = Callable[[Mapping[str, np.ndarray], int], Any]


def observed(path: str, space: Any) -> tuple[dict[str, FieldSpec], Showing]:
    """The fields of an observation space, and what turns an observation into their values, of one agent.

    Dict and Tuple spaces give a field for each of their parts. Choices (Discrete, MultiDiscrete) are one-hot, as in
    `gymnasium.spaces.flatten`. Floats have 32 bits; pictures and other whole numbers keep their type.
    """
    spaces = require("gymnasium.spaces", "Gymnasium's spaces")
    if isinstance(space, spaces.Dict | spaces.Tuple):
        named = space.spaces.items() if isinstance(space, spaces.Dict) else enumerate(space.spaces)
        parts = [(key, *observed(f"{path}/{key}", inner)) for key, inner in named]
        fields = {name: field for _, part, _ in parts for name, field in part.items()}
        return fields, lambda seen: {name: x for key, _, show in parts for name, x in show(seen[key]).items()}
    if isinstance(space, spaces.Discrete | spaces.MultiDiscrete):
        fields = observations(path, spaces.Box(0, 1, (spaces.flatdim(space),), np.float32))
        return fields, lambda seen: {path: spaces.flatten(space, seen)}
    if isinstance(space, spaces.MultiBinary):
        return observations(path, spaces.Box(0, 1, space.shape, np.float32)), lambda seen: {path: np.asarray(seen)}
    if isinstance(space, spaces.Box):
        space = _with_floats_of_32_bits(spaces, space)
    return observations(path, space), lambda seen: {path: np.asarray(seen)}


def acted(path: str, space: Any) -> tuple[dict[str, FieldSpec], Acting]:
    """The fields of an action space, and what turns agents' values of them into the action of agent i.

    Continuous actions are clipped to their bounds. See `envs.spaces.actions` for the branches.
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


def _together(chosen: Mapping[str, np.ndarray], i: int, paths: Mapping[str, Any], space: Any) -> np.ndarray:
    return np.array([chosen[name][i] for name in paths], dtype=space.dtype).reshape(space.shape)


def _with_floats_of_32_bits(spaces: Any, space: Any) -> Any:
    if space.dtype != np.float64:
        return space
    low, high = space.low.astype(np.float32), space.high.astype(np.float32)
    return spaces.Box(low, high, space.shape, np.float32)
