"""How a ragged array is stored, grown and read: the part of `utils.ragged.arrays.Ragged` below its operations."""

from typing import Any, Self

import numpy as np

from utils.ragged.rows import numbers_of, one_slice, packed_starts, picked, ranges, sliced


class RaggedStorage:
    """Flat values and, of each sequence, its first row among them and its length; what was pushed waits until read.

    A view by numbers of features has `_columns`, those of the values that it shows; None: all.
    The four methods at the end are all that a library of arrays has to supply.
    """

    _values: Any
    _starts: np.ndarray
    _lengths: np.ndarray
    _columns: np.ndarray | None

    def push(self, items: Any) -> None:
        """Append a sequence `[L, F]`; an empty list is a sequence without items.

        Raises:
            ValueError: its items have another number of features.
            TypeError: it is an array of another dtype.
        """
        items = self._as_values(items, self._values)
        if items.ndim == 1 and items.shape[0] == 0:
            items = items.reshape(0, self.size2())
        if items.ndim != 2 or items.shape[1] != self.size2():
            raise ValueError(f"Expected a sequence [items, {self.size2()}], not of shape {tuple(items.shape)}.")
        self._same_dtype(items)
        self._pending.append((self._copied(items), np.array([items.shape[0]], np.int64)))

    def push_empty(self) -> None:
        """Append a sequence without items."""
        self.push([])

    def extend(self, other: "RaggedStorage") -> None:
        """Append all sequences of another one.

        Raises:
            ValueError: its items have another number of features.
            TypeError: its dtype is another.
        """
        self._matching(other)
        self._pending.append((self._copied(other.values), other.lengths.copy()))

    def clear(self) -> None:
        """Remove all sequences."""
        self._set(self.values[:0], np.zeros(0, np.int64))

    def clone(self) -> Self:
        """A copy that shares no memory with this, whether it is a view or not."""
        return self._of(self.as_array(), self.lengths.copy())

    @property
    def values(self) -> Any:
        """All items `[items, F]`, sequence after sequence; may share memory with this."""
        self._settle()
        whole = self._columns is None and len(self._values) == self._lengths.sum()
        packed = whole and np.array_equal(self._starts, packed_starts(self._lengths))
        return self._values if packed else self._taken(self._rows())

    @property
    def lengths(self) -> np.ndarray:
        """Number of items of each sequence, int64 `[S]`."""
        self._settle()
        return self._lengths

    @property
    def dtype(self) -> Any:
        return self._values.dtype

    def as_array(self) -> Any:
        """A copy of `values`."""
        return self._copied(self.values)

    def tolist(self) -> list[list[list[Any]]]:
        """Nested lists: sequences, items, features."""
        rows, stops = self.values.tolist(), np.cumsum(self.lengths).tolist()
        return [rows[stop - length : stop] for stop, length in zip(stops, self.lengths.tolist(), strict=True)]

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

    def __len__(self) -> int:
        """Number of scalars, items times features, as in ragged-buffer."""
        return self.items() * self.size2()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.tolist()}, dtype={self.dtype})"

    @classmethod
    def _of(
        cls,
        values: Any,
        lengths: np.ndarray,
        starts: np.ndarray | None = None,
        columns: np.ndarray | None = None,
    ) -> Self:
        ragged = cls.__new__(cls)
        ragged._set(values, lengths, starts, columns)
        return ragged

    def _set(
        self,
        values: Any,
        lengths: np.ndarray,
        starts: np.ndarray | None = None,
        columns: np.ndarray | None = None,
    ) -> None:
        self._values, self._lengths, self._columns = values, lengths, columns
        self._starts = packed_starts(lengths) if starts is None else starts
        self._pending: list[tuple[Any, np.ndarray]] = []

    def _settle(self) -> None:
        """Join what was pushed to the values, in one copy; views that were taken before stay with the old ones."""
        if pending := self._pending:
            self._pending = []
            values = self._joined([self.values, *(items for items, _ in pending)])
            self._set(values, np.concatenate([self._lengths, *(lengths for _, lengths in pending)]))

    def _rows(self) -> np.ndarray:
        """The row among the stored values of each item."""
        return ranges(self._starts, self._lengths)

    def _taken(self, rows: np.ndarray) -> Any:
        taken = self._values[self._from_numpy(rows)]
        return taken if self._columns is None else taken[:, self._from_numpy(self._columns)]

    def _replace(self, new: Any) -> None:
        """Write `[items, F]` in the place of all items."""
        rows = self._from_numpy(self._rows())
        if self._columns is None:
            self._values[rows] = new
        else:
            self._values[rows[:, None], self._from_numpy(self._columns)] = new

    def _sequences(self, key: Any) -> np.ndarray:
        """The numbers of sequences, each from 0, that an index means."""
        return numbers_of(key, len(self._lengths), "sequence")

    def _view(self, sequences: Any, items: Any = slice(None), features: Any = slice(None), *more: Any) -> Self:
        if more:
            raise IndexError("A ragged array is indexed by one to three numbers, arrays or slices.")
        chosen = sequences if isinstance(sequences, slice) else self._sequences(sequences)
        starts, lengths = self._starts[chosen], self._lengths[chosen]
        values, columns = self._values, self._columns
        if columns is None and isinstance(features, slice) and features.step in (None, 1):
            values = values[:, features]
        else:
            chosen = features if isinstance(features, slice) else numbers_of(features, self.size2(), "feature")
            columns = (np.arange(values.shape[1]) if columns is None else columns)[chosen].copy()
        if (cut := one_slice(items)) is not None:
            first, lengths = sliced(lengths, cut)
            return self._of(values, lengths, starts + first, columns)
        rows, lengths = picked(starts, lengths, items)
        return self._of(self._of(values, lengths, starts, columns)._taken(rows), lengths)

    def _matching(self, other: "RaggedStorage") -> None:
        if other.size2() != self.size2():
            raise ValueError(f"Items of {self.size2()} and of {other.size2()} features do not fit together.")
        self._same_dtype(other)

    def _same_dtype(self, other: Any) -> None:
        if other.dtype != self.dtype:
            raise TypeError(f"Values of type {other.dtype} do not fit those of type {self.dtype}.")

    @staticmethod
    def _as_values(values: Any, like: Any = None) -> Any:
        """`values` as an array; lists get the dtype of `like`."""
        return values if isinstance(values, np.ndarray) else np.asarray(values, None if like is None else like.dtype)

    @staticmethod
    def _copied(values: Any) -> Any:
        return values.copy()

    @staticmethod
    def _joined(parts: list[Any], axis: int = 0) -> Any:
        return np.concatenate(parts, axis)

    def _from_numpy(self, array: np.ndarray) -> Any:
        return array
