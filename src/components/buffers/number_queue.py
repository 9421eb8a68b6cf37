"""Ascending numbers, first in, first out: which steps are transitions to learn from."""

import numpy as np


class NumberQueue:
    """At most `capacity` ascending numbers, int64."""

    def __init__(self, capacity: int):
        self._held = np.zeros(capacity, dtype=np.int64)
        self._first = self._stop = 0

    def __len__(self) -> int:
        return self._stop - self._first

    @property
    def appended(self) -> int:
        """How many were added since the last change of its size."""
        return self._stop

    def append(self, numbers: np.ndarray) -> None:
        """Add ascending numbers `[k]`, few of which are smaller than some there are."""
        if not len(numbers):
            return
        later = 0
        while later < len(self) and self[np.array(len(self) - 1 - later)] > numbers[0]:
            later = min(len(self), 2 * later + 1)
        if later:
            numbers = np.sort(np.concatenate([self[len(self) - later + np.arange(later)], numbers]))
            self._stop -= later
        self._held[(self._stop + np.arange(len(numbers))) % len(self._held)] = numbers
        self._stop += len(numbers)

    def resize(self, capacity: int, limit: int) -> None:
        """Hold at most `capacity` numbers from now on, of those there are the ones from `limit` on."""
        numbers = self[np.arange(len(self))]
        numbers = numbers[numbers >= limit]
        self._held = np.zeros(capacity, dtype=np.int64)
        self._held[: len(numbers)] = numbers
        self._first, self._stop = 0, len(numbers)

    def drop_below(self, limit: int, at_most: int) -> None:
        """Remove the numbers below `limit`, of which there are `at_most` that many."""
        self._first += int(np.count_nonzero(self[np.arange(min(at_most, len(self)))] < limit))

    def __getitem__(self, places: np.ndarray) -> np.ndarray:
        """The numbers in the places `[k]`, from 0, the oldest."""
        return self._held[(self._first + places) % len(self._held)]
