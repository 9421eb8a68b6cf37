"""Ragged arrays: sequences of unequal numbers of items, each item a row of features; the type of ragged-buffer.

The values are one flat array; sequence i is its rows `starts[i] .. starts[i] + lengths[i] - 1`.
"""

import operator
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Self

import numpy as np

from utils.ragged.rows import Packing, one_slice, pack, packed_starts, ranges
from utils.ragged.storage import RaggedStorage


class Ragged(RaggedStorage):
    """S sequences of items of F features in NumPy; `components.ragged.RaggedTensor` is the same in torch.

    One index that is a number or an array gives a copy. A slice, or two or three indices (of sequences, items and
    features, each a number, an array or a slice), give a view, which changes with the base until either grows; but
    items chosen by several positions, or by a slice with a step, are copied. An array of another dtype is a TypeError.
    """

    def __init__(self, features: int, dtype: Any = np.float32):
        """No sequence yet, of items with so many features."""
        self._set(np.empty((0, features), dtype), np.zeros(0, np.int64))

    @classmethod
    def from_array(cls, array: Any) -> Self:
        """Sequences of equal length from `[S, L, F]`, copied, with its dtype.

        Raises:
            ValueError: it has not three dimensions.
        """
        array = cls._as_values(array)
        if array.ndim != 3:
            raise ValueError(f"Expected an array [sequences, items, features], not of shape {tuple(array.shape)}.")
        lengths = np.full(array.shape[0], array.shape[1], np.int64)
        return cls._of(cls._copied(array).reshape(array.shape[0] * array.shape[1], array.shape[2]), lengths)

    @classmethod
    def from_flattened(cls, values: Any, lengths: Any) -> Self:
        """From all items `[sum of lengths, F]`, copied, and the number of items of each sequence.

        Raises:
            ValueError: they do not fit together, or a length is no whole number from 0.
        """
        values = cls._as_values(values)
        if values.ndim != 2:
            raise ValueError(f"Expected an array [items, features], not of shape {tuple(values.shape)}.")
        lengths = np.asarray(lengths)
        if lengths.size == 0:
            lengths = lengths.astype(np.int64)
        if lengths.ndim != 1 or lengths.dtype.kind not in "iu" or (lengths < 0).any():
            raise ValueError("Lengths are whole numbers from 0, one for each sequence.")
        if lengths.sum() != values.shape[0]:
            raise ValueError(f"The lengths add up to {lengths.sum()}, but there are {values.shape[0]} items.")
        return cls._of(cls._copied(values), lengths.astype(np.int64))

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

    def __iter__(self) -> Iterator[Self]:
        return (self[i] for i in range(self.size0()))

    def __setitem__(self, key: Any, value: Any) -> None:
        """Write a number, or a ragged array of the shape of this view, into a view.

        Raises:
            TypeError: the index gives a copy.
        """
        items = key[1] if isinstance(key, tuple) and len(key) > 1 else slice(None)
        if not isinstance(key, slice | tuple) or one_slice(items) is None:
            raise TypeError("Only views can be assigned to: this index gives a copy.")
        self[key]._write(value, lambda old, new: new)

    def __add__(self, other: Any) -> Self:
        return self._arithmetic(other, operator.add)

    def __sub__(self, other: Any) -> Self:
        return self._arithmetic(other, operator.sub)

    def __mul__(self, other: Any) -> Self:
        return self._arithmetic(other, operator.mul)

    __radd__ = __add__
    __rmul__ = __mul__

    def __rsub__(self, other: Any) -> Self:
        return self._arithmetic(other, lambda mine, theirs: theirs - mine)

    def __iadd__(self, other: Any) -> Self:
        return self._write(other, operator.add)

    def __isub__(self, other: Any) -> Self:
        return self._write(other, operator.sub)

    def __imul__(self, other: Any) -> Self:
        return self._write(other, operator.mul)

    def indices(self, dim: int) -> Self:
        """Of every item the number of its sequence (dim 0) or its position in it (dim 1), int64 with one feature."""
        if dim not in (0, 1):
            raise ValueError(f"Items have indices along dimensions 0 and 1, not {dim}.")
        lengths = self.lengths
        numbers = np.repeat(np.arange(len(lengths)), lengths) if dim == 0 else ranges(np.zeros_like(lengths), lengths)
        return self._of(self._from_numpy(numbers[:, None]), lengths)

    def flat_indices(self) -> Self:
        """Of every item its row in `values`, int64 with one feature."""
        return self._of(self._from_numpy(np.arange(self.items())[:, None]), self.lengths)

    def padpack(self) -> Packing | None:
        """`utils.ragged.rows.pack` of the lengths: None if all are equal, so that `values` only needs a reshape."""
        packing = pack(self.lengths)
        return None if packing is None else Packing(*(self._from_numpy(array) for array in packing))

    def _arithmetic(self, other: Any, operate: Callable[[Any, Any], Any]) -> Self:
        if str(self.dtype).endswith("bool"):
            raise TypeError("Booleans have no arithmetic.")
        mine, theirs, lengths = self._operands(other)
        result = operate(mine, theirs)
        self._same_dtype(result)
        return self._of(result, lengths)

    def _write(self, other: Any, operate: Callable[[Any, Any], Any]) -> Self:
        mine, theirs, lengths = self._operands(other)
        if not np.array_equal(lengths, self._lengths):
            raise ValueError(f"Sequences of {lengths} items do not fit into those of {self._lengths}.")
        result = operate(mine, theirs)
        if isinstance(other, Ragged):
            self._same_dtype(result)
        self._replace(result)
        return self

    def _operands(self, other: Any) -> tuple[Any, Any, np.ndarray]:
        """Values of both sides, one-item sequences repeated, and the lengths that both have then."""
        if not isinstance(other, Ragged):
            if np.ndim(other) or isinstance(other, str):
                raise TypeError(f"Expected a ragged array or a number, not {type(other).__name__}.")
            return self.values, other.item() if hasattr(other, "item") else other, self.lengths
        self._matching(other)
        mine, theirs = self.lengths, other.lengths
        if np.array_equal(mine, theirs):
            return self.values, other.values, mine
        if len(mine) == len(theirs) and (theirs == 1).all():
            return self.values, other._taken(np.repeat(other._starts, mine)), mine
        if len(mine) == len(theirs) and (mine == 1).all():
            return self._taken(np.repeat(self._starts, theirs)), other.values, theirs
        raise ValueError(f"Sequences of {mine} and of {theirs} items do not fit together.")


def cat(arrays: Sequence[Ragged], dim: int = 0) -> Ragged:
    """Join ragged arrays: their sequences (dim 0), the items of each sequence (1), or the features of each item (2).

    Along features, a sequence of one item is repeated for each item of the others; where one is empty, the result is.

    Raises:
        ValueError: there are none, or sizes that have to be equal are not.
        TypeError: their types are not one.
    """
    if dim not in (0, 1, 2) or not arrays:
        raise ValueError(f"Join one or more ragged arrays along dimension 0, 1 or 2, not {len(arrays)} along {dim}.")
    first = arrays[0]
    for other in arrays[1:]:
        first._same_dtype(other)
        if dim < 2:
            first._matching(other)
        if dim > 0 and other.size0() != first.size0():
            raise ValueError(f"Ragged arrays of {first.size0()} and of {other.size0()} sequences do not fit together.")
    lengths = np.stack([array.lengths for array in arrays], 1) if dim else None
    if dim == 2:
        return _features_joined(arrays, lengths)
    values = first._joined([array.values for array in arrays])
    if dim == 0:
        return first._of(values, np.concatenate([array.lengths for array in arrays]))
    starts = packed_starts(lengths.T.ravel()).reshape(lengths.T.shape).T
    joined = first._of(values, lengths.ravel(), starts.ravel())
    return first._of(joined.values, lengths.sum(1))


def _features_joined(arrays: Sequence[Ragged], lengths: np.ndarray) -> Ragged:
    """`lengths`: `[S, arrays]`."""
    result = np.where((lengths == 0).any(1), 0, lengths.max(1))
    if ((lengths != result[:, None]) & (lengths > 1) & (result[:, None] > 0)).any():
        raise ValueError("Sequences whose features are joined have equally many items, or one.")
    sequence, position = np.repeat(np.arange(len(result)), result), ranges(np.zeros_like(result), result)
    parts = [
        array._taken(array._starts[sequence] + np.where(array.lengths[sequence] == 1, 0, position)) for array in arrays
    ]
    return arrays[0]._of(arrays[0]._joined(parts, 1), result)
