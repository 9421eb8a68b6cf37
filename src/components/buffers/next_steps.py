"""The short way into a ring of frames, for a step that continues the last one in every row."""

from typing import Any

import numpy as np

from components.episode_batch import EpisodeBatch
from components.storage import narrowed
from utils.schemes import BEFORE, is_rollout

NO_BLOCK = (None, 0)


class NextSteps:
    """Writes rollouts of one step, `[B, 2, ...]`, into a `FrameRing` in the memory of the CPU or in a mapped file.

    What is written equals what `FrameRing.insert` writes, in about a tenth of the time: the steps that wait for their
    actions are one block, and so are the frames after them. Everything else is left to `FrameRing.insert`: other
    numbers of columns, first frames of episodes, rows that are not filled or were left out, the end of the ring.

    Args:
        ring: a `FrameRing`.
        arrays: of the ring, by field; the ring makes another object when it has others.
        observed: the fields by which frames are compared.
    """

    def __init__(self, ring: Any, arrays: dict[str, np.ndarray], observed: list[str]):
        self._ring, self._seen = ring, len(observed)
        stored = [*observed, *(key for key in arrays if key not in observed)]
        self._keys, self._arrays = ("filled", *stored), [arrays[key] for key in stored]
        self._ends = [1 + stored.index(key) for key in ("terminated", "truncated")]

    def put(self, batch: EpisodeBatch, source: int) -> int:
        """Write the batch. Returns the number of its first step, or -1 if it has to take the long way.

        Raises:
            MusterError: a value does not fit the type it is stored in.
        """
        ring, rows = self._ring, batch.batch_size
        waiting, before = ring.blocks.get(source, NO_BLOCK)
        if waiting is None or waiting is not ring.waiting.get(source) or len(waiting) != rows:
            return -1
        size, stop = ring.capacity, ring.stop
        old, new = before % size, stop % size
        # as `FrameRing._waiting_of` has it, up to two steps of each row might be new
        if before < stop + 2 * rows - size or old + rows > size or new + rows > size:
            return -1
        if batch.max_seq_length != 2 or not (BEFORE in batch.scheme or is_rollout(batch)) or not _on_cpu(batch):
            return -1
        values = batch.arrays(self._keys)
        filled, ends = values[0], [values[place] for place in self._ends]
        del values[0]
        if rows == 1:
            all_filled = filled.item(0) and filled.item(1)
            ended = ends[0].item(0) or ends[1].item(0)
        else:
            all_filled = np.count_nonzero(filled) == 2 * rows
            ended = np.count_nonzero(ends[0]) or np.count_nonzero(ends[1])
        if not all_filled or not self._continues(values, slice(old, old + rows)):
            return -1
        ring.before_overwrite(stop + rows - size)
        # one place is written faster than a slice of one
        places, after = (old, new) if rows == 1 else (slice(old, old + rows), slice(new, new + rows))
        if rows == 1 and new == old + 1:
            both = slice(old, old + 2)
            for stored, value in zip(self._arrays, values, strict=True):
                stored[both] = value  # [1, 2, ...]
        else:
            for stored, value in zip(self._arrays, values, strict=True):
                stored[places] = value[:, 0]
                stored[after] = value[:, 1]
        ring.ahead[places], ring.ahead[after] = stop - before, 0
        ring.stop = stop + rows
        numbers = np.arange(stop, stop + rows)
        if ended:
            ring.wait(source, numbers, (ends[0][:, 0, 0] | ends[1][:, 0, 0]) != 0)
        else:
            ring.waiting[source] = numbers
            ring.blocks[source] = numbers, stop
        return before

    def _continues(self, values: list[np.ndarray], places: slice) -> bool:
        """Whether all values fit the types they are stored in, and the first frames `[B]` are those that wait."""
        for number, stored in enumerate(self._arrays):
            value = values[number]
            if value.dtype is not stored.dtype:
                value = narrowed(self._keys[number + 1], value, stored.dtype)
            if number < self._seen and not same(value[:, 0], stored[places]):
                return False
        return True


def _on_cpu(batch: EpisodeBatch) -> bool:
    return batch.device == "cpu" or str(batch.device) == "cpu"


def same(now: np.ndarray, then: np.ndarray) -> bool:
    """Whether two arrays of a shape and type show the same, NaN included."""
    # of few numbers, equal bytes are found in an eighth of the time that equal numbers take
    return now.tobytes() == then.tobytes() or bool(equal(now, then).all())


def equal(now: np.ndarray, then: np.ndarray) -> np.ndarray:
    """Which numbers are equal, or both NaN: bool, of the same shape."""
    found = now == then
    return found if now.dtype.kind != "f" else found | ((now != now) & (then != then))
