"""The data that environments and trainer exchange at every step, as arrays with a row for each environment."""

from collections.abc import Mapping
from math import prod
from typing import Any

import numpy as np

from envs.contract.fields import ENDS, OBSERVED, EnvSpec

# every array in shared memory starts at a multiple of this many bytes, a cache line
ALIGNMENT = 64


class StepArrays:
    """One step of B environments: an array `[B, ...]` for every field of `spec`, and for the two ends.

    Args:
        spec: the fields, see `EnvSpec.layout`.
        arrays: one for each.
    """

    def __init__(self, spec: EnvSpec, arrays: dict[str, np.ndarray]):
        self.spec, self._arrays = spec, arrays
        self.shown = {path: arrays[path] for path in spec.of_kind(*OBSERVED)}
        self.outcomes = {path: arrays[path] for path in spec.of_kind("outcome")}
        self.actions = {path: arrays[path] for path in spec.of_kind("action")}
        self.terminated, self.truncated = (arrays[end] for end in ENDS)
        # the arrays that environments write
        self._results = [*self.shown.values(), *self.outcomes.values(), self.terminated, self.truncated]

    @classmethod
    def allocate(cls, spec: EnvSpec, count: int) -> "StepArrays":
        """Zeros for `count` environments, in this process's own memory."""
        return cls(spec, {name: np.zeros(shape, dtype) for name, (shape, dtype) in spec.layout(count).items()})

    @classmethod
    def inside(cls, memory: Any, spec: EnvSpec, count: int, start: int = 0) -> "StepArrays":
        """The arrays of `count` environments in `memory`, a writable buffer with `size` bytes from `start` on."""
        arrays = {}
        for name, (shape, dtype) in spec.layout(count).items():
            arrays[name] = np.frombuffer(memory, dtype, count=prod(shape), offset=start).reshape(shape)
            start = _next_start(start, shape, dtype)
        return cls(spec, arrays)

    @staticmethod
    def size(spec: EnvSpec, count: int) -> int:
        """Bytes that `inside` needs."""
        end = 0
        for shape, dtype in spec.layout(count).values():
            end = _next_start(end, shape, dtype)
        return end

    def __getitem__(self, name: str) -> np.ndarray:
        return self._arrays[name]

    def part(self, rows: slice) -> "StepArrays":
        """Views of some rows."""
        return StepArrays(self.spec, {name: array[rows] for name, array in self._arrays.items()})

    def results(self, rows: list[int]) -> list[np.ndarray]:
        """The results of the environments `rows` (ascending), for `put_results`."""
        chosen = span(rows)
        return [array[chosen] for array in self._results]

    def put_results(self, rows: list[int], results: list[np.ndarray]) -> None:
        """Write the `results` of another `StepArrays`."""
        chosen = span(rows)
        for array, values in zip(self._results, results, strict=True):
            array[chosen] = values

    def put_actions(self, rows: Any, actions: Mapping[str, np.ndarray]) -> None:
        """Write actions of the environments `rows`."""
        chosen = span(rows) if isinstance(rows, list) else rows
        for path, array in self.actions.items():
            array[chosen] = actions[path]


def span(rows: list[int]) -> slice | list[int]:
    """Rows (ascending) as an index: as a slice, which is much faster, where they follow one another."""
    together = rows and rows[-1] - rows[0] + 1 == len(rows)
    return slice(rows[0], rows[-1] + 1) if together else rows


def _next_start(start: int, shape: tuple[int, ...], dtype: np.dtype) -> int:
    end = start + prod(shape) * dtype.itemsize
    return -(-end // ALIGNMENT) * ALIGNMENT
