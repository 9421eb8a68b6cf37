"""The package ragged-buffer in NumPy: sequences of unequal numbers of items, each item a row of features.

Where values lie, and what an index gives, is `utils.ragged.sequences`.
"""

import operator
from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar, Self

import numpy as np

from utils.ragged.rows import Packing, contiguous, pack, packed_starts, positions, ranges
from utils.ragged.sequences import Sequences

__all__ = ["RaggedBuffer", "RaggedBufferBool", "RaggedBufferF32", "RaggedBufferI64", "cat", "translate_rotate"]


class RaggedBuffer(Sequences):
    """S sequences of items of F features, of one dtype; this class itself only chooses one by the dtype of an array.

    Buffers are equal if their types, lengths and values are. Beyond ragged-buffer, indices count from the end if
    negative, views have all operations, and what is outside is an IndexError, not a panic. Values of another dtype are
    a TypeError.
    """

    _dtype: ClassVar[Any] = None
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, features: int):
        if self._dtype is None:
            raise ValueError("RaggedBuffer is made as RaggedBufferF32, RaggedBufferI64 or RaggedBufferBool.")
        self._set(np.empty((0, features), self._dtype), np.zeros(0, np.int64))

    def __class_getitem__(cls, scalar: Any) -> type["RaggedBuffer"]:
        """`RaggedBuffer[np.float32]` in annotations."""
        return _OF.get(np.dtype(scalar), cls) if isinstance(scalar, type) and issubclass(scalar, np.generic) else cls

    @classmethod
    def from_array(cls, x: np.ndarray) -> Self:
        """Sequences of equal length from `[S, L, F]`, copied.

        Raises:
            TypeError: it has another dtype.
            ValueError: it has not three dimensions; or of RaggedBuffer, there is no class for its dtype.
        """
        kind = cls._class_for(x)
        if x.ndim != 3:
            raise ValueError(f"Expected an array [sequences, items, features], not of shape {x.shape}.")
        sequences, items, features = x.shape
        return kind._of(x.reshape(sequences * items, features).copy(), np.full(sequences, items, np.int64))

    @classmethod
    def from_flattened(cls, flattened: np.ndarray, lengths: Any) -> Self:
        """From all items `[items, F]`, copied, and the number of items of each sequence `[S]`.

        Raises:
            TypeError: it has another dtype.
            ValueError: they do not fit together, or a length is no whole number from 0.
        """
        kind, lengths = cls._class_for(flattened), np.asarray(lengths)
        if flattened.ndim != 2:
            raise ValueError(f"Expected an array [items, features], not of shape {flattened.shape}.")
        if lengths.size == 0:
            lengths = lengths.astype(np.int64)
        if lengths.ndim != 1 or lengths.dtype.kind not in "iu" or (lengths < 0).any():
            raise ValueError("Lengths are whole numbers from 0, one for each sequence.")
        if lengths.sum() != len(flattened):
            raise ValueError(f"The lengths add up to {lengths.sum()}, but there are {len(flattened)} items.")
        return kind._of(flattened.copy(), lengths.astype(np.int64))

    @classmethod
    def cat(cls, buffers: Sequence["RaggedBuffer"], dim: int = 0) -> "RaggedBuffer":
        """Join sequences (dim 0), items (1) or features (2)."""
        return cat(buffers, dim)

    def push(self, items: Any) -> None:
        """Append a sequence `[L, F]`; an empty list is a sequence without items.

        Raises:
            ValueError: its items have another number of features.
            TypeError: it is an array of another dtype.
        """
        items = np.array(items, None if isinstance(items, np.ndarray) else self.dtype)
        if items.shape == (0,):
            items = items.reshape(0, self.size2())
        if items.ndim != 2 or items.shape[1] != self.size2():
            raise ValueError(f"Expected a sequence [items, {self.size2()}], not of shape {items.shape}.")
        _require_dtype(self, items)
        self._pending.append(self._of(items, np.array([len(items)])))

    def push_empty(self) -> None:
        """Append a sequence without items."""
        self.push([])

    def extend(self, other: "RaggedBuffer") -> None:
        """Append all sequences of another one.

        Raises:
            ValueError: its items have another number of features.
            TypeError: its dtype is another.
        """
        _require_alike(self, other)
        self._pending.append(other.clone())

    def clear(self) -> None:
        """Remove all sequences."""
        self._set(self.values[:0], np.zeros(0, np.int64))

    def clone(self) -> Self:
        """A copy that shares no memory with this, whether it is a view or not."""
        return self._of(self.as_array(), self.lengths.copy())

    def materialize(self) -> Self:
        """A view as a buffer of its own; one that is no view is itself."""
        return self if self.values is self._values else self.clone()

    def tolist(self) -> list[list[list[Any]]]:
        """Nested lists: sequences, items, features."""
        return [part.tolist() for part in np.split(self.values, np.cumsum(self.lengths)[:-1])] if self.size0() else []

    def indices(self, dim: int) -> "RaggedBufferI64":
        """Of every item the number of its sequence (dim 0) or its position in it (dim 1)."""
        if dim not in (0, 1):
            raise ValueError(f"Items have indices along dimensions 0 and 1, not {dim}.")
        lengths = self.lengths
        numbers = np.repeat(np.arange(len(lengths)), lengths) if dim == 0 else positions(lengths)
        return RaggedBufferI64._of(numbers[:, None], lengths)

    def flat_indices(self) -> "RaggedBufferI64":
        """Of every item its row in `values`."""
        return RaggedBufferI64._of(np.arange(self.items())[:, None], self.lengths)

    def padpack(self) -> Packing | None:
        """`utils.ragged.rows.pack` of the lengths: None if all are equal, so that `values` only needs a reshape."""
        return pack(self.lengths)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.tolist()})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, RaggedBuffer):
            return NotImplemented
        same = self.dtype == other.dtype and self.size2() == other.size2()
        return same and np.array_equal(self.lengths, other.lengths) and np.array_equal(self.values, other.values)

    def __iter__(self) -> Iterator[Self]:
        return (self[i] for i in range(self.size0()))

    def __setitem__(self, key: Any, value: Any) -> None:
        """Write a number, or a buffer of the shape of this view, into a view.

        Raises:
            TypeError: the index gives a copy.
        """
        items = key[1] if isinstance(key, tuple) and len(key) > 1 else slice(None)
        if not isinstance(key, slice | tuple) or contiguous(items) is None:
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

    def _arithmetic(self, other: Any, operate: Callable[[Any, Any], Any]) -> Self:
        if self.dtype == bool:
            raise TypeError("Booleans have no arithmetic.")
        mine, theirs, lengths = self._operands(other)
        result = operate(mine, theirs)
        _require_dtype(self, result)
        return self._of(result, lengths)

    def _write(self, other: Any, operate: Callable[[Any, Any], Any]) -> Self:
        mine, theirs, lengths = self._operands(other)
        if not np.array_equal(lengths, self._lengths):
            raise ValueError(f"Sequences of {lengths} items do not fit into those of {self._lengths}.")
        result = operate(mine, theirs)
        if isinstance(other, RaggedBuffer):
            _require_dtype(self, result)
        self._replace(result)
        return self

    def _operands(self, other: Any) -> tuple[Any, Any, np.ndarray]:
        """Values of both sides, one-item sequences repeated, and the lengths that both have then."""
        if not isinstance(other, RaggedBuffer):
            if np.ndim(other) or isinstance(other, str):
                raise TypeError(f"Expected a ragged buffer or a number, not {type(other).__name__}.")
            return self.values, other.item() if hasattr(other, "item") else other, self.lengths
        _require_alike(self, other)
        mine, theirs = self.lengths, other.lengths
        if np.array_equal(mine, theirs):
            return self.values, other.values, mine
        if len(mine) == len(theirs) and (theirs == 1).all():
            return self.values, other._taken(np.repeat(other._starts, mine)), mine
        if len(mine) == len(theirs) and (mine == 1).all():
            return self._taken(np.repeat(self._starts, theirs)), other.values, theirs
        raise ValueError(f"Sequences of {mine} and of {theirs} items do not fit together.")

    @classmethod
    def _class_for(cls, given: Any) -> type[Self]:
        if not isinstance(given, np.ndarray):
            raise TypeError(f"{cls.__name__} is made of a NumPy array, not of {type(given).__name__}.")
        if cls._dtype is None and given.dtype not in _OF:
            raise ValueError(f"There is no RaggedBuffer of {given.dtype}: float32, int64 and bool have one.")
        if cls._dtype is not None and given.dtype != cls._dtype:
            raise TypeError(f"{cls.__name__} has values of type {np.dtype(cls._dtype)}, not {given.dtype}.")
        return _OF[given.dtype] if cls._dtype is None else cls


class RaggedBufferF32(RaggedBuffer):
    """Values are float32."""

    _dtype = np.float32


class RaggedBufferI64(RaggedBuffer):
    """Values are int64."""

    _dtype = np.int64


class RaggedBufferBool(RaggedBuffer):
    """Values are bool."""

    _dtype = np.bool_


_OF: dict[np.dtype, type[Any]] = {
    np.dtype(cls._dtype): cls for cls in (RaggedBufferF32, RaggedBufferI64, RaggedBufferBool)
}


def cat(buffers: Sequence[RaggedBuffer], dim: int = 0) -> RaggedBuffer:
    """Join ragged buffers: their sequences (dim 0), the items of each sequence (1), or the features of each item (2).

    Along features, a sequence of one item is repeated for each item of the others; where one is empty, the result is.

    Raises:
        ValueError: there are none, or sizes that have to be equal are not.
        TypeError: their types are not one.
    """
    if dim not in (0, 1, 2) or not buffers:
        raise ValueError(f"Join one or more ragged buffers along dimension 0, 1 or 2, not {len(buffers)} along {dim}.")
    first = buffers[0]
    for other in buffers[1:]:
        _require_dtype(first, other)
        if dim < 2:
            _require_alike(first, other)
        if dim > 0 and other.size0() != first.size0():
            raise ValueError(f"Ragged buffers of {first.size0()} and of {other.size0()} sequences do not fit together.")
    if dim == 2:
        return _features_joined(buffers)
    values = np.concatenate([buffer.values for buffer in buffers])
    if dim == 0:
        return first._of(values, np.concatenate([buffer.lengths for buffer in buffers]))
    lengths = np.stack([buffer.lengths for buffer in buffers])
    starts = packed_starts(lengths.ravel()).reshape(lengths.shape)
    return first._of(values[ranges(starts.T.ravel(), lengths.T.ravel())], lengths.sum(0))


def _features_joined(buffers: Sequence[RaggedBuffer]) -> RaggedBuffer:
    lengths = np.stack([buffer.lengths for buffer in buffers], 1)
    result = np.where((lengths == 0).any(1), 0, lengths.max(1))
    if ((lengths != result[:, None]) & (lengths > 1) & (result[:, None] > 0)).any():
        raise ValueError("Sequences whose features are joined have equally many items, or one.")
    sequence, position = np.repeat(np.arange(len(result)), result), positions(result)
    parts = [
        buffer._taken(buffer._starts[sequence] + np.where(buffer.lengths[sequence] == 1, 0, position))
        for buffer in buffers
    ]
    return buffers[0]._of(np.concatenate(parts, 1), result)


def translate_rotate(source: RaggedBuffer, translation: RaggedBuffer, rotation: RaggedBuffer) -> None:
    """Move the coordinates `source` by minus `translation`, and turn them so that `rotation` becomes the x axis.

    All have 2 features; the last two one item in each sequence. `source` changes in place: give a view by features.

    Raises:
        ValueError: of other sizes.
    """
    for name, one in (("source", source), ("translation", translation), ("rotation", rotation)):
        if one.size2() != 2:
            raise ValueError(f"translate_rotate: {name} has {one.size2()} features, not 2.")
        if one.size0() != source.size0():
            raise ValueError(f"translate_rotate: {name} has {one.size0()} sequences, not {source.size0()}.")
        if one is not source and (one.lengths != 1).any():
            raise ValueError(f"translate_rotate: {name} has one item in each sequence.")
    source -= translation
    direction = np.repeat(rotation.values, source.lengths, axis=0)
    moved = source.values
    turned = np.stack([(direction * moved).sum(1), direction[:, 0] * moved[:, 1] - direction[:, 1] * moved[:, 0]], 1)
    source._replace(turned)


def _require_alike(one: RaggedBuffer, other: RaggedBuffer) -> None:
    if other.size2() != one.size2():
        raise ValueError(f"Items of {one.size2()} and of {other.size2()} features do not fit together.")
    _require_dtype(one, other)


def _require_dtype(one: RaggedBuffer, other: Any) -> None:
    if other.dtype != one.dtype:
        raise TypeError(f"Values of type {other.dtype} do not fit those of type {one.dtype}.")
