"""Fields of a step side by side in memory, so that one copy stores them all."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from math import prod

import numpy as np
import torch as th

from components.scheme import shape_at_a_step
from components.storage import storage_dtype
from utils.tensors.schemes import observed_fields, state_fields

ENDS = ("terminated", "truncated")


@dataclass(frozen=True, eq=False)
class StepLayout:
    """Two records of each step: what agents see, by which frames are compared, and what they do and get.

    `seen`, `done`: their types; the fields are those of a buffer, as it stores them. `ends`: where the ends begin in
    `done`; no other field is behind them.
    """

    seen: np.dtype
    done: np.dtype
    ends: int


def step_layout(scheme: Mapping[str, dict], groups: Mapping[str, int], preprocess: Mapping[str, tuple]) -> StepLayout:
    """The layout for batches of a scheme, without constant and derived fields: for equal fields the same object.

    Raises:
        TypeError: a field is stored in a type that NumPy does not have.
    """
    derived = {new for new, _ in preprocess.values()} | {"filled"}
    fields = {
        key: (_numpy_type(storage_dtype(key, info)), shape_at_a_step(info, groups))
        for key, info in scheme.items()
        if key not in derived and not info.get("episode_const", False)
    }
    seen = [*observed_fields(scheme), *state_fields(scheme)]
    done = [*(key for key in fields if key not in (*seen, *ENDS)), *ENDS]
    return _layout(*(tuple((key, *fields[key]) for key in keys) for keys in (seen, done)))


@cache
def _layout(seen: tuple, done: tuple) -> StepLayout:
    # aligned, as torch wants its tensors
    seen, done = (np.dtype(list(part), align=True) for part in (seen, done))
    return StepLayout(seen, done, done.fields[ENDS[0]][1])


def _numpy_type(dtype: th.dtype) -> str:
    return th.empty(0, dtype=dtype).numpy().dtype.str


def _zeros(size: int) -> np.ndarray:
    return np.zeros(size, dtype=np.uint8)


class StepRecords:
    """The records of many steps.

    `arrays`: by field, `[*lead, ...]`, on the records' memory. `seen`, `done`: the records' bytes.

    Args:
        lead: the axes of steps, of which the first varies fastest.
        memory: makes zeros, uint8, of so many bytes.
    """

    def __init__(self, layout: StepLayout, lead: tuple[int, ...], memory: Callable[[int], np.ndarray] = _zeros):
        self.layout, self.arrays = layout, {}
        self.seen, self.done = (self._bytes(part, lead, memory) for part in (layout.seen, layout.done))

    def _bytes(self, part: np.dtype, lead: tuple[int, ...], memory: Callable[[int], np.ndarray]) -> memoryview:
        raw = memory(part.itemsize * prod(lead))
        for key, place in _places(part, lead):
            self.arrays[key] = np.ndarray(buffer=raw, **place)
        # slices of it take half the time that slices of arrays take
        return memoryview(raw)


@lru_cache(256)
def _places(part: np.dtype, lead: tuple[int, ...]) -> list[tuple[str, dict]]:
    """Where each field of such records is, as `np.ndarray` takes it."""
    one = np.zeros((), part)
    steps = tuple(part.itemsize * prod(lead[:axis]) for axis in range(len(lead)))
    return [
        (
            key,
            {
                "shape": (*lead, *one[key].shape),
                "dtype": one[key].dtype,
                "offset": part.fields[key][1],
                "strides": (*steps, *one[key].strides),
            },
        )
        for key in part.names
    ]
