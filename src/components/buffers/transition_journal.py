"""The journal of a buffer of transitions: its steps as checkpoints save them."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch as th

from checkpoints.journal import Arrays
from components.storage import require_arrays

# how much of the buffer is in one block
BLOCK_BYTES = 8 * 2**20
FIELD, AHEAD, KIND = "field/", "ahead", "kind"


class TransitionJournal:
    """A record is a step (`Journal`); those that wait for their actions are not among them.

    A block has `field/<field>` `[k, ...]`, and of each step `ahead`, int32 `[k]`, and `kind`, uint8 `[k]`.

    Args:
        buffer: a `TransitionReplay`.
    """

    # steps do not change once they are complete
    edits = 0

    def __init__(self, buffer: Any):
        self._buffer, self._ring = buffer, buffer.ring
        step = sum(stored.nbytes for stored in self._ring.data.values()) // self._ring.capacity
        self._step_bytes = max(1, step)

    @property
    def first(self) -> int:
        return self._ring.first

    @property
    def stop(self) -> int:
        return self._ring.complete

    def before_overwrite(self, wait: Callable[[int], None]) -> None:
        self._ring.before_overwrite = wait

    def rows(self, first: int, stop: int) -> Iterator[tuple[int, Arrays]]:
        size, at_once = self._ring.capacity, max(1, BLOCK_BYTES // self._step_bytes)
        while first < stop:
            place = first % size
            count = min(at_once, size - place, stop - first)
            first += count
            rows = slice(place, place + count)
            fields = {f"{FIELD}{key}": stored[rows].cpu().numpy() for key, stored in self._ring.data.items()}
            yield first, {**fields, AHEAD: self._ring.ahead[rows], KIND: self._buffer.kinds[rows]}

    def put(self, first: int, arrays: Arrays) -> None:
        count, size = len(arrays.get(KIND, ())), self._ring.capacity
        own = {f"{FIELD}{key}": (x.dtype, (count, *x.shape[1:])) for key, x in self._ring.data.items()}
        own |= {AHEAD: (th.int32, (count,)), KIND: (th.uint8, (count,))}
        require_arrays(arrays, own)
        if count > size:
            raise ValueError(f"{count} steps in a buffer of {size}")
        ahead = arrays[AHEAD]
        if count and not (ahead.min() >= 0 and (first + np.arange(count) + ahead).max() < self._ring.stop):
            raise ValueError("a step is followed by one that does not exist")
        # a file may begin with steps that are not held any more
        gone = min(count, max(0, self._ring.first - first))
        places = np.arange(first + gone, first + count) % size
        for key, stored in self._ring.data.items():
            stored[th.from_numpy(places)] = th.from_numpy(arrays[f"{FIELD}{key}"][gone:]).to(stored.device)
        self._ring.ahead[places] = ahead[gone:]
        self._buffer.take_kinds(first + gone, arrays[KIND][gone:])
