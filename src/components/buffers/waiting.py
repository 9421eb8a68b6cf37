"""Which steps of a ring wait for their actions."""

from collections.abc import Mapping

import numpy as np


class WaitingSteps:
    """By source, of each row of its last rollout: the number of its last step if that waits for actions, else -1.

    `blocks`: the sources in whose rows all wait, with numbers without a gap: the first one, and how many they are.
    """

    def __init__(self, numbers: Mapping[int, np.ndarray] | None = None):
        self._numbers: dict[int, np.ndarray] = {}
        self.blocks: dict[int, tuple[int, int]] = {}
        for source, of_rows in (numbers or {}).items():
            self.put(source, of_rows)

    def put(self, source: int, numbers: np.ndarray) -> None:
        """Set those of a source, int64 `[B]`."""
        self._numbers[source] = numbers
        first, rows = int(numbers[0]), len(numbers)
        if first >= 0 and np.array_equal(numbers, np.arange(first, first + rows)):
            self.blocks[source] = first, rows
        else:
            self.blocks.pop(source, None)

    def of(self, source: int) -> np.ndarray | None:
        """Those of a source, int64 `[B]`; None if it has brought nothing yet."""
        if source in self.blocks:  # which is newer than the numbers
            first, rows = self.blocks[source]
            return np.arange(first, first + rows)
        return self._numbers.get(source)

    def all(self) -> dict[int, np.ndarray]:
        """Those of all sources."""
        return {source: self.of(source) for source in self._numbers}
