"""The short way into a ring of frames, for steps that continue the last ones in every row."""

from typing import Any

import numpy as np

from components.episode_batch import EpisodeBatch
from components.record_batch import RecordBatch
from components.step_records import StepRecords
from components.storage import narrowed
from utils.tensors.schemes import BEFORE, is_rollout

FILLED = ("filled",)


class NextSteps:
    """Writes rollouts `[B, T, ...]` into a `FrameRing` in the memory of the CPU or in a mapped file.

    What is written equals what `FrameRing.insert` writes, in less than a tenth of the time: the steps that wait for
    their actions are one block, and so are the frames after them; so of a `RecordBatch`, each kind of records is copied
    at once. Everything else is left to `FrameRing.insert`: first frames of episodes, also within a row, rows that are
    not filled or were left out, the end of the ring.

    Args:
        ring: a `FrameRing`.
        records: of the ring; it makes another object when it has others.
    """

    def __init__(self, ring: Any, records: StepRecords):
        self._ring, self._layout, self._arrays = ring, records.layout, records.arrays
        self._seen, self._done = records.seen, records.done
        self._seen_size, self._done_size = records.layout.seen.itemsize, records.layout.done.itemsize
        self._ends = self._ends_of(records)
        # slices of it take a quarter of the time that slices of arrays take
        self._ahead = memoryview(ring.ahead)
        # of the last batch: its rows and steps
        self._rows = self._steps = 0

    def put(self, batch: EpisodeBatch, source: int) -> int:
        """Write the batch. Returns the number of its first step, or -1 if it has to take the long way.

        Raises:
            MusterError: a value does not fit the type it is stored in.
        """
        ring, rows, steps = self._ring, batch.batch_size, batch.max_seq_length - 1
        before, waiting = ring.waiting.blocks.get(source, (0, 0))
        size, stop, count = ring.capacity, ring.stop, rows * steps
        # as `FrameRing._waiting_of` has it, all columns might be new
        if waiting != rows or not steps or before < stop + count + rows - size:
            return -1
        old, new = before % size, stop % size
        if old + rows > size or new + count > size:
            return -1
        if rows != self._rows or steps != self._steps:
            self._resize(rows, steps)
        records = self._records_of(batch)
        if records is None or (steps > 1 and self._ends_of(records)[: count - rows].any()):
            return -1
        seen, place = self._seen_size, old * self._seen_size
        waits, shown = self._seen[place : place + rows * seen], records.seen[: rows * seen]
        # equal bytes are found in an eighth of the time that equal numbers take
        if waits.tobytes() != shown.tobytes():
            if not self._continues(records, slice(old, old + rows)):
                return -1
            waits[:] = shown  # zeros have two signs
        ring.before_overwrite(stop + count - size)
        self._seen[new * seen : (new + count) * seen] = records.seen[rows * seen :]
        done = self._done_size
        if new == old + rows:
            self._done[old * done : (new + count) * done] = records.done
            self._ahead[old : new + count] = self._ahead_of_all
        else:
            self._done[old * done : (old + rows) * done] = records.done[: rows * done]
            self._done[new * done : (new + count) * done] = records.done[rows * done :]
            ring.ahead[old : old + rows], ring.ahead[new : new + count] = stop - before, self._ahead_of_all[rows:]
        ring.stop = stop = stop + count
        last = old if steps == 1 else new + count - 2 * rows
        ends = self._ends[last : last + rows]
        if ends.tobytes() == self._no_ends:
            ring.waiting.blocks[source] = stop - rows, rows
        else:
            ring.wait(source, np.arange(stop - rows, stop), ends.any(axis=1))
        return before

    def _resize(self, rows: int, steps: int) -> None:
        self._rows, self._steps = rows, steps
        # for batches without records
        self._made = StepRecords(self._layout, (rows, steps + 1))
        self._all_filled = np.ones(rows * (steps + 1), dtype=np.int64).tobytes()
        self._no_ends = bytes(rows * self._ends.shape[1])
        self._ahead_of_all = np.repeat(np.array([rows, 0], np.int32), [rows * steps, rows])

    def _ends_of(self, records: StepRecords) -> np.ndarray:
        """Their bytes, of each record."""
        done = np.frombuffer(records.done, dtype=np.uint8).reshape(-1, self._done_size)
        return done[:, self._layout.ends :]

    def _records_of(self, batch: EpisodeBatch) -> StepRecords | None:
        """All fields of a batch as the ring stores them; None if it is no rollout on the CPU that is filled."""
        if not (BEFORE in batch.scheme or is_rollout(batch)):
            return None
        records = batch.records_of(self._layout) if isinstance(batch, RecordBatch) else None
        if records is not None:
            filled, apart = batch.filled, batch.apart
        elif str(batch.device) == "cpu":
            records, apart = self._made, list(self._made.arrays)
            (filled,) = batch.arrays(FILLED)
        else:
            return None
        if filled.tobytes() != self._all_filled:
            return None
        if apart:
            self._take_apart(batch, records, apart)
        return records

    def _take_apart(self, batch: EpisodeBatch, records: StepRecords, keys: list[str]) -> None:
        for key, value in zip(keys, batch.arrays(keys), strict=True):
            stored = records.arrays[key]
            stored[:] = value if value.dtype == stored.dtype else narrowed(key, value, stored.dtype)

    def _continues(self, records: StepRecords, places: slice) -> bool:
        """Whether the first frames `[B]` show the same as those that wait in these places."""
        return all(equal(records.arrays[key][:, 0], self._arrays[key][places]).all() for key in self._layout.seen.names)


def equal(now: np.ndarray, then: np.ndarray) -> np.ndarray:
    """Which numbers are equal, or both NaN: bool, of the same shape."""
    found = now == then
    return found if now.dtype.kind != "f" else found | ((now != now) & (then != then))
