"""Ascending numbers, first in, first out: which steps are transitions to learn from."""

import numpy as np

from components.buffers.flat_memory import FlatMemory

# above all numbers
NONE = 2**63 - 1
# how many numbers are counted ahead
COUNTED = 1000


class NumberQueue:
    """At most `capacity` ascending numbers, int64."""

    def __init__(self, capacity: int):
        self._held = FlatMemory(np.zeros(capacity, dtype=np.int64))
        self._first = self._stop = 0
        # the least of the numbers, or NONE, and one that is not below any of them
        self._least, self._most = NONE, -1
        self._count, self._count_from = FlatMemory(np.zeros(0, dtype=np.int64)), 0

    def __len__(self) -> int:
        return self._stop - self._first

    @property
    def appended(self) -> int:
        """How many were added since the last change of its size."""
        return self._stop

    def append_block(self, first: int, count: int) -> None:
        """Add `count` numbers from `first` on."""
        held = self._held.view
        place = self._stop % len(held)
        if first <= self._most or place + count > len(held) or self._least == NONE:
            self.append(np.arange(first, first + count))
            return
        if count == 1:
            held[place] = first
        else:
            held[place : place + count] = self._counted(first, count)
        self._stop += count
        self._most = first + count - 1

    def _counted(self, first: int, count: int) -> memoryview:
        """`count` numbers from `first` on, of a longer list: in a third of the time that a new array takes."""
        place = first - self._count_from
        if place + count > len(self._count.view):
            self._count_from, place = first, 0
            self._count = FlatMemory(np.arange(first, first + count + COUNTED))
        return self._count.view[place : place + count]

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
        held = self._held.array
        held[(self._stop + np.arange(len(numbers))) % len(held)] = numbers
        self._stop += len(numbers)
        self._most = int(numbers[-1])
        self._find_least()

    def resize(self, capacity: int, limit: int) -> None:
        """Hold at most `capacity` numbers from now on, of those there are the ones from `limit` on."""
        numbers = self[np.arange(len(self))]
        numbers = numbers[numbers >= limit]
        self._held = FlatMemory(np.zeros(capacity, dtype=np.int64))
        self._held.array[: len(numbers)] = numbers
        self._first, self._stop = 0, len(numbers)
        self._find_least()

    def drop_below(self, limit: int, at_most: int) -> None:
        """Remove the numbers below `limit`, of which there are `at_most` that many."""
        if self._least >= limit:
            return
        held, stop = self._held.view, self._first + at_most
        size = len(held)
        if stop <= self._stop and held[(stop - 1) % size] < limit:
            self._first = stop
        else:
            stop = self._first = self._first + int(np.count_nonzero(self[np.arange(min(at_most, len(self)))] < limit))
        self._least = held[stop % size] if stop != self._stop else NONE

    def _find_least(self) -> None:
        held = self._held.view
        self._least = held[self._first % len(held)] if self._first != self._stop else NONE

    def __getitem__(self, places: np.ndarray) -> np.ndarray:
        """The numbers in the places `[k]`, from 0, the oldest."""
        return self._held.array[(self._first + places) % len(self._held.array)]
