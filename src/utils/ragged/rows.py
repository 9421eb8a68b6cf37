"""Where the items of ragged arrays stand: whole numbers only, whichever library holds the values."""

import heapq
from typing import Any, NamedTuple

import numpy as np


class Packing(NamedTuple):
    """How sequences of unequal length share the rows of a rectangle, so that attention wastes little on padding.

    `index`: int64 `[rows, width]`, the item at each place; padding is 0.
    `batch`: float32 `[rows, width]`, the sequence of that item; padding is NaN, which equals nothing, not even itself.
    `inverse_index`: int64 `[items]`, the place of each item, row * width + column.
    """

    index: Any
    batch: Any
    inverse_index: Any


def ranges(starts: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """`[starts[0], starts[0] + 1, ...]` of `lengths[0]` numbers, then those of the next, as one int64 array."""
    begin = np.cumsum(lengths) - lengths
    return np.repeat(starts - begin, lengths) + np.arange(int(lengths.sum()))


def positions(lengths: np.ndarray) -> np.ndarray:
    """`[0, 1, ...]` of `lengths[0]` numbers, then those of the next, as one int64 array: places within sequences."""
    return ranges(np.zeros_like(lengths), lengths)


def packed_starts(lengths: np.ndarray) -> np.ndarray:
    """The first item of each sequence, int64 `[S]`, if each begins where the one before ends."""
    return np.cumsum(lengths) - lengths


def sliced(lengths: np.ndarray, cut: slice) -> tuple[np.ndarray, np.ndarray]:
    """First item and number of items that Python's `cut`, by steps of 1, leaves of sequences of these lengths."""
    first, stop = (
        np.where(bound < 0, np.maximum(lengths + bound, 0), np.minimum(bound, lengths))
        for bound in (
            0 if cut.start is None else np.int64(cut.start),
            lengths if cut.stop is None else np.int64(cut.stop),
        )
    )
    return first, np.maximum(stop - first, 0)


def chosen_numbers(key: Any, count: int, what: str) -> np.ndarray:
    """What an index means of `count` sequences, items or features (`what`): their numbers, each from 0.

    Args:
        key: a whole number, an array of them, or a boolean for each; negative numbers count from the end.

    Raises:
        IndexError: there is none of this number, or it is no index.
    """
    chosen = np.atleast_1d(np.asarray(key))
    if chosen.size == 0:
        chosen = chosen.astype(np.int64)
    if chosen.dtype == bool and chosen.shape == (count,):
        return chosen.nonzero()[0]
    if chosen.ndim != 1 or chosen.dtype.kind not in "iu":
        raise IndexError(f"An index is a whole number, an array of them, or one boolean for each of {count} {what}s.")
    beyond = chosen[(chosen < -count) | (chosen >= count)]
    if beyond.size:
        raise IndexError(f"There is no {what} {beyond[0]}: there are {count}.")
    return np.where(chosen < 0, chosen + count, chosen)


def contiguous(items: Any) -> slice | None:
    """The slice of neighbouring items that an index of items is, a number included; None if it is another one."""
    if isinstance(items, slice):
        return items if items.step in (None, 1) else None
    if isinstance(items, int | np.integer) and not isinstance(items, bool):
        return slice(int(items), None if items == -1 else int(items) + 1)
    return None


def picked_rows(starts: np.ndarray, lengths: np.ndarray, items: Any) -> tuple[np.ndarray, np.ndarray]:
    """The rows of the items that a slice with a step, or several positions, choose in each sequence.

    A position that a sequence does not have is left out there, as in ragged-buffer.

    Returns:
        The rows, int64 `[n]`, sequence after sequence, and the number of items of each sequence.

    Raises:
        IndexError: positions that are no whole numbers.
    """
    if not isinstance(items, slice) and (
        np.ndim(items) != 1 or (len(items) and np.asarray(items).dtype.kind not in "iu")
    ):
        raise IndexError("Items are chosen by a slice, a whole number, or a list of these.")
    chosen = []
    for start, length in zip(starts.tolist(), lengths.tolist(), strict=True):
        positions = np.arange(length)
        if not isinstance(items, slice):
            wanted = np.asarray(items, np.int64)
            positions = np.where(wanted < 0, wanted + length, wanted)
            positions = positions[(positions >= 0) & (positions < length)]
        else:
            positions = positions[items]
        chosen.append(start + positions)
    rows = np.concatenate(chosen) if chosen else np.zeros(0, np.int64)
    return rows, np.array([len(part) for part in chosen], np.int64)


def pack(lengths: np.ndarray) -> Packing | None:
    """Place sequences of these lengths, int64 `[S]`, in rows as wide as the longest; None if all have one length.

    Each in turn goes into the row with most free places (of equal ones the first), or into a new row if none has
    enough: ragged-buffer's rule.
    """
    if len(lengths) == 0 or (lengths == lengths[0]).all():
        return None
    width = int(lengths.max())
    places, rows = placed(lengths, width)
    inverse_index = ranges(places, lengths)
    index = np.zeros(rows * width, np.int64)
    index[inverse_index] = np.arange(len(inverse_index))
    batch = np.full(len(index), np.nan, np.float32)
    batch[inverse_index] = np.repeat(np.arange(len(lengths)), lengths)
    return Packing(index.reshape(-1, width), batch.reshape(-1, width), inverse_index)


def placed(lengths: np.ndarray, width: int) -> tuple[np.ndarray, int]:
    """Share rows of `width` places, at least the longest, by the rule of `pack`.

    Returns:
        The place (row * width + column) where each sequence begins, int64 `[S]`, and the number of rows.
    """
    places = np.zeros(len(lengths), np.int64)
    rows: list[tuple[int, int]] = []  # a heap of (places taken, row)
    for sequence, length in enumerate(lengths.tolist()):
        if length == 0:
            continue
        if rows and rows[0][0] + length <= width:
            taken, row = rows[0]
            heapq.heapreplace(rows, (taken + length, row))
        else:
            taken, row = 0, len(rows)
            heapq.heappush(rows, (length, row))
        places[sequence] = row * width + taken
    return places, len(rows)
