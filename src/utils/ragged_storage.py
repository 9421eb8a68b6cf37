"""How a ragged array is stored, grown and read: the part of `utils.ragged.Ragged` below its operations."""

from typing import Any, Self

import numpy as np

from utils.ragged_rows import packed_starts, ranges, sliced


class RaggedStorage:
    """Flat values and, of each sequence, its first row among them and its length; what was pushed waits until read.

    The four methods at the end are all that a library of arrays has to supply.
    """

    _values: Any
    _starts: np.ndarray
    _lengths: np.ndarray

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
        self._set(self._values[:0], np.zeros(0, np.int64))

    @property
    def values(self) -> Any:
        """All items `[items, F]`, sequence after sequence; may share memory with this."""
        self._settle()
        packed = len(self._values) == self._lengths.sum() and np.array_equal(self._starts, packed_starts(self._lengths))
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
        return self._values.shape[1]

    def items(self) -> int:
        """Number of items of all sequences."""
        return int(self.lengths.sum())

    def __len__(self) -> int:
        """Number of scalars, items times features, as in ragged-buffer."""
        return self.items() * self.size2()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.tolist()}, dtype={self.dtype})"

    @classmethod
    def _of(cls, values: Any, lengths: np.ndarray, starts: np.ndarray | None = None) -> Self:
        ragged = cls.__new__(cls)
        ragged._set(values, lengths, starts)
        return ragged

    def _set(self, values: Any, lengths: np.ndarray, starts: np.ndarray | None = None) -> None:
        self._values, self._lengths = values, lengths
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
        return self._values[self._from_numpy(rows)]

    def _sequences(self, key: Any) -> np.ndarray:
        """The numbers of sequences, each from 0, that an index means."""
        chosen, count = np.atleast_1d(np.asarray(key)), len(self._lengths)
        if chosen.size == 0:
            chosen = chosen.astype(np.int64)
        if chosen.dtype == bool and chosen.shape == (count,):
            return chosen.nonzero()[0]
        if chosen.ndim != 1 or chosen.dtype.kind not in "iu":
            raise IndexError(
                f"An index is a whole number, an array of them, or one boolean for each of {count} sequences."
            )
        beyond = chosen[(chosen < -count) | (chosen >= count)]
        if beyond.size:
            raise IndexError(f"There is no sequence {beyond[0]}: there are {count}.")
        return np.where(chosen < 0, chosen + count, chosen)

    def _view(self, sequences: slice, items: slice = slice(None), features: slice = slice(None), *more: Any) -> Self:
        cuts = (sequences, items, features, *more)
        if len(cuts) > 3 or not all(isinstance(cut, slice) for cut in cuts):
            raise IndexError("A ragged array is indexed by a number, an array, or one to three slices.")
        first, lengths = sliced(self._lengths[sequences], items)
        return self._of(self._values[:, features], lengths, self._starts[sequences] + first)

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
