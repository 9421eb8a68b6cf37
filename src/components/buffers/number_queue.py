"""Ascending numbers, first in, first out: which steps are transitions to learn from."""

import numpy as np


class NumberQueue:
    """At most `capacity` ascending numbers, int64."""

    def __init__(self, capacity: int):
        self._numbers = np.zeros(capacity, dtype=np.int64)
        self._first = self._stop = 0

    def __len__(self) -> int:
        return self._stop - self._first

    def append_block(self, first: int, count: int) -> None:
        """Add `count` numbers from `first` on."""
        size, place = len(self._numbers), self._stop % len(self._numbers)
        if place + count > size or (len(self) and self._numbers[place - 1] > first):
            self.append(np.arange(first, first + count))
            return
        self._numbers[place : place + count] = first if count == 1 else np.arange(first, first + count)
        self._stop += count

    def append(self, numbers: np.ndarray) -> None:
        """Add ascending numbers `[k]`, few of which are smaller than some there are."""
        later = 0
        if len(numbers):
            while later < len(self) and self[np.array(len(self) - 1 - later)] > numbers[0]:
                later = min(len(self), 2 * later + 1)
        if later:
            numbers = np.sort(np.concatenate([self[len(self) - later + np.arange(later)], numbers]))
            self._stop -= later
        self._numbers[(self._stop + np.arange(len(numbers))) % len(self._numbers)] = numbers
        self._stop += len(numbers)

    def resize(self, capacity: int, limit: int) -> None:
        """Hold at most `capacity` numbers from now on, of those there are the ones from `limit` on."""
        numbers = self[np.arange(len(self))]
        numbers = numbers[numbers >= limit]
        self._numbers = np.zeros(capacity, dtype=np.int64)
        self._first, self._stop = 0, len(numbers)
        self._numbers[: len(numbers)] = numbers

    def drop_below(self, limit: int, at_most: int) -> None:
        """Remove the numbers below `limit`, of which there are `at_most` that many."""
        if self._first == self._stop or self._numbers[self._first % len(self._numbers)] >= limit:
            return
        if (
            self._stop - self._first >= at_most
            and self._numbers[(self._first + at_most - 1) % len(self._numbers)] < limit
        ):
            self._first += at_most
            return
        oldest = self[np.arange(min(at_most, len(self)))]
        self._first += int(np.count_nonzero(oldest < limit))

    def __getitem__(self, places: np.ndarray) -> np.ndarray:
        """The numbers in the places `[k]`, from 0, the oldest."""
        return self._numbers[(self._first + places) % len(self._numbers)]
