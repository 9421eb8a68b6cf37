"""Sequences of unequal numbers of items in one flat array, and views of them."""

from typing import Any, Self

import numpy as np

from utils.ragged.rows import chosen_numbers, contiguous, packed_starts, picked_rows, ranges, sliced


class Sequences:
    """S sequences of items of F features: sequence i is the rows `starts[i] .. starts[i] + lengths[i] - 1` of an array.

    One index that is a number or an array gives a copy. A slice, or two or three indices (of sequences, items and
    features, each a number, an array or a slice), give a view, which changes with the base until either grows; but
    items chosen by several positions, or by a slice with a step, are copied.
    """

    # a view by numbers of features has `_columns`, those of the values that it shows; None: all
    _values: np.ndarray
    _starts: np.ndarray
    _lengths: np.ndarray
    _columns: np.ndarray | None
    # what was pushed, until it is read
    _pending: list["Sequences"]

    @property
    def values(self) -> np.ndarray:
        """All items `[items, F]`, sequence after sequence; may share memory with this."""
        self._settle()
        whole = self._columns is None and len(self._values) == self._lengths.sum()
        packed = whole and np.array_equal(self._starts, packed_starts(self._lengths))
        return self._values if packed else self._taken(ranges(self._starts, self._lengths))

    @property
    def lengths(self) -> np.ndarray:
        """Number of items of each sequence, int64 `[S]`."""
        self._settle()
        return self._lengths

    @property
    def dtype(self) -> np.dtype:
        return self._values.dtype

    def as_array(self) -> np.ndarray:
        """A copy of `values`."""
        return self.values.copy()

    def size0(self) -> int:
        """Number of sequences."""
        return len(self.lengths)

    def size1(self, i: int | None = None) -> np.ndarray | int:
        """Number of items of each sequence, int64 `[S]`, or of sequence i."""
        return self.lengths.copy() if i is None else int(self.lengths[self._sequences(i)][0])

    def size2(self) -> int:
        """Number of features."""
        return self._values.shape[1] if self._columns is None else len(self._columns)

    def items(self) -> int:
        """Number of items of all sequences."""
        return int(self.lengths.sum())

    def is_empty(self) -> bool:
        """Whether there is no scalar."""
        return len(self) == 0

    def __len__(self) -> int:
        """Number of scalars, items times features, as in ragged-buffer."""
        return self.items() * self.size2()

    def __getitem__(self, key: Any) -> Self:
        """A sequence by number; several by an array of numbers or of booleans; a view, see the class.

        Raises:
            IndexError: there is no such sequence or feature.
        """
        self._settle()
        if isinstance(key, slice | tuple):
            return self._view(*(key if isinstance(key, tuple) else (key,)))
        chosen = self._sequences(key)
        lengths = self._lengths[chosen]
        return self._of(self._taken(ranges(self._starts[chosen], lengths)), lengths)

    @classmethod
    def _of(cls, *parts: Any) -> Self:
        """Of values, lengths and, of a view, starts and columns; nothing is copied."""
        buffer = cls.__new__(cls)
        buffer._set(*parts)
        return buffer

    def _set(
        self,
        values: np.ndarray,
        lengths: np.ndarray,
        starts: np.ndarray | None = None,
        columns: np.ndarray | None = None,
    ) -> None:
        self._values, self._lengths, self._columns = values, lengths, columns
        self._starts = packed_starts(lengths) if starts is None else starts
        self._pending = []

    def _settle(self) -> None:
        """Join what was pushed to the values, in one copy; views that were taken before stay with the old ones."""
        if pending := self._pending:
            self._pending = []
            parts = [self, *pending]
            values, lengths = [part.values for part in parts], [part._lengths for part in parts]
            self._set(np.concatenate(values), np.concatenate(lengths))

    def _taken(self, rows: np.ndarray) -> np.ndarray:
        taken = self._values[rows]
        return taken if self._columns is None else taken[:, self._columns]

    def _replace(self, new: Any) -> None:
        """Write `[items, F]` in place of all items."""
        rows = ranges(self._starts, self._lengths)
        if self._columns is None:
            self._values[rows] = new
        else:
            self._values[rows[:, None], self._columns] = new

    def _sequences(self, key: Any) -> np.ndarray:
        return chosen_numbers(key, len(self._lengths), "sequence")

    def _view(self, sequences: Any, items: Any = slice(None), features: Any = slice(None), *more: Any) -> Self:
        if more:
            raise IndexError("A ragged buffer is indexed by one to three numbers, arrays or slices.")
        chosen = sequences if isinstance(sequences, slice) else self._sequences(sequences)
        starts, lengths = self._starts[chosen], self._lengths[chosen]
        values, columns = self._values, self._columns
        if columns is None and isinstance(features, slice) and features.step in (None, 1):
            values = values[:, features]
        else:
            kept = features if isinstance(features, slice) else chosen_numbers(features, self.size2(), "feature")
            columns = (np.arange(values.shape[1]) if columns is None else columns)[kept].copy()
        if (cut := contiguous(items)) is not None:
            first, lengths = sliced(lengths, cut)
            return self._of(values, lengths, starts + first, columns)
        rows, kept_lengths = picked_rows(starts, lengths, items)
        return self._of(self._of(values, lengths, starts, columns)._taken(rows), kept_lengths)
