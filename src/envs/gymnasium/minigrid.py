"""MiniGrid's pictures (Chevalier-Boisvert et al. 2023), whose channels are no colours but kinds of things."""

import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from envs.contract.fields import FieldSpec
from envs.contract.validation import InvalidEnvironmentError

CHANNELS = ("object", "colour", "state")
# MiniGrid's wrappers of observations that leave cells as they are: seen from elsewhere, or by themselves
KEEPING = ("ViewSizeWrapper", "FullyObsWrapper", "ImgObsWrapper", "DirectionObsWrapper")
# a thing that is an agent has one of four directions as its state
DIRECTIONS = 4


class Cells:
    """The fields of an environment whose pictures show MiniGrid's cells: of each, its object, colour and state.

    Networks see them one-hot.

    Args:
        env: in its wrappers.
        observations: its observed fields.

    Attributes:
        fields: the observed fields, of which pictures of cells declare `categories`; the same for other environments,
            and for pictures of pixels (RGBImgObsWrapper).
    """

    def __init__(self, env: Any, observations: Mapping[str, FieldSpec]):
        sizes = _categories() if _shows_cells(env) else ()
        self._sizes = np.array(sizes)
        self._paths = [path for path, field in observations.items() if sizes and _is_of_cells(field)]
        self.fields = {
            path: replace(field, about={"categories": sizes}) if path in self._paths else field
            for path, field in observations.items()
        }

    def check(self, observed: Mapping[str, np.ndarray]) -> None:
        """Raises InvalidEnvironmentError: there is something else than MiniGrid has."""
        for path in self._paths:
            beyond = observed[path] >= self._sizes
            if beyond.any():
                *_, channel = np.argwhere(beyond)[0].tolist()
                raise InvalidEnvironmentError(
                    f"the picture '{path}' has the {CHANNELS[channel]} {observed[path][beyond][0]}, of which there are "
                    f"{self._sizes[channel]}. What is new has to be in minigrid.core.constants"
                )


def _categories() -> tuple[int, int, int]:
    """How many objects, colours and states there are; those of the user's own have to be among MiniGrid's constants."""
    known: Any = sys.modules["minigrid.core.constants"]
    states = max(DIRECTIONS, len(known.STATE_TO_IDX))
    return len(known.OBJECT_TO_IDX), len(known.COLOR_TO_IDX), states


def _shows_cells(env: Any) -> bool:
    base = sys.modules.get("minigrid.minigrid_env")
    if base is None or not isinstance(env.unwrapped, base.MiniGridEnv):
        return False
    from gymnasium import ObservationWrapper

    return not any(isinstance(layer, ObservationWrapper) and type(layer).__name__ not in KEEPING for layer in _in(env))


def _in(env: Any) -> Iterator[Any]:
    while env is not env.unwrapped:
        yield env
        env = env.env


def _is_of_cells(field: FieldSpec) -> bool:
    return len(field.shape) == len(CHANNELS) and field.shape[-1] == len(CHANNELS) and field.dtype == "uint8"
