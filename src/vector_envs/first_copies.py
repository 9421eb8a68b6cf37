"""Some of the copies of a source of environments, as a smaller source."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from vector_envs.contract import StepOutcome, VectorEnv


class FirstCopies:
    """The first `count` of the `size` copies of a `VectorEnv`, in its contract; the others stay as they are.

    Between its episodes only: a copy that is in an episode would be stepped.
    """

    def __init__(self, env: VectorEnv, count: int, size: int):
        self._env, self._count, self._size = env, count, size

    def reset(self, which: np.ndarray | None = None) -> None:
        first = np.zeros(self._size, dtype=bool)
        first[: self._count] = True if which is None else which
        self._env.reset(first)

    def step(self, actions: Mapping[str, np.ndarray]) -> StepOutcome:
        everyone = {}
        for path, values in actions.items():
            everyone[path] = np.zeros((self._size, *values.shape[1:]), dtype=values.dtype)
            everyone[path][: self._count] = values
        values, *ends = self._env.step(everyone)
        return StepOutcome(self._of_first(values), *(end[: self._count] for end in ends))

    def observed(self) -> Mapping[str, np.ndarray]:
        return self._of_first(self._env.observed())

    def _of_first(self, values: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        return {path: array[: self._count] for path, array in values.items()}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._env, name)
