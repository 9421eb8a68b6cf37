"""The names of the package ragged-buffer over `utils.ragged.arrays`: a class for each dtype."""

from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np

from utils.ragged import arrays as ragged

__all__ = ["RaggedBuffer", "RaggedBufferBool", "RaggedBufferF32", "RaggedBufferI64", "cat", "translate_rotate"]


class RaggedBuffer(ragged.Ragged):
    """A ragged array of one dtype; this class itself only chooses one by the dtype of what it is given.

    Buffers are equal if their types, lengths and values are. Beyond ragged-buffer, indices count from the end if
    negative, `b[1:3]` is a view, views have all operations, and what is outside is an IndexError, not a panic.
    """

    _dtype: ClassVar[Any] = None
    __hash__ = None

    def __init__(self, features: int):
        if self._dtype is None:
            raise ValueError("RaggedBuffer is made as RaggedBufferF32, RaggedBufferI64 or RaggedBufferBool.")
        super().__init__(features, self._dtype)

    def __class_getitem__(cls, scalar: Any) -> type["RaggedBuffer"]:
        """`RaggedBuffer[np.float32]` in annotations."""
        return _OF.get(np.dtype(scalar), cls) if isinstance(scalar, type) and issubclass(scalar, np.generic) else cls

    @classmethod
    def from_array(cls, x: Any) -> Self:
        """Sequences of equal length from `[S, L, F]`, copied.

        Raises:
            TypeError: it has another dtype.
            ValueError: it has not three dimensions; or of RaggedBuffer, there is no class for its dtype.
        """
        return super(RaggedBuffer, cls._class_for(x)).from_array(x)

    @classmethod
    def from_flattened(cls, flattened: Any, lengths: Any) -> Self:
        """From all items `[items, F]`, copied, and int64 lengths `[S]`; raises as `from_array`."""
        return super(RaggedBuffer, cls._class_for(flattened)).from_flattened(flattened, lengths)

    @classmethod
    def cat(cls, buffers: Sequence["RaggedBuffer"], dim: int = 0) -> "RaggedBuffer":
        """Join sequences (dim 0), items (1) or features (2)."""
        return cat(buffers, dim)

    def materialize(self) -> Self:
        """A view as a buffer of its own; one that is no view is itself."""
        return self if self.values is self._values else self.clone()

    def is_empty(self) -> bool:
        """Whether there is no scalar."""
        return len(self) == 0

    def indices(self, dim: int) -> "RaggedBufferI64":
        return RaggedBufferI64._as_this(super().indices(dim))

    def flat_indices(self) -> "RaggedBufferI64":
        return RaggedBufferI64._as_this(super().flat_indices())

    def padpack(self) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
        """The index and the batch of the packed items, `[rows, width]`, and the inverse index."""
        packing = super().padpack()
        return None if packing is None else tuple(packing)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, RaggedBuffer):
            return NotImplemented
        return (
            self.dtype == other.dtype
            and self.size2() == other.size2()
            and np.array_equal(self.lengths, other.lengths)
            and np.array_equal(self.values, other.values)
        )

    @classmethod
    def _class_for(cls, given: Any) -> type["RaggedBuffer"]:
        if not isinstance(given, np.ndarray):
            raise TypeError(f"{cls.__name__} is made of a NumPy array, not of {type(given).__name__}.")
        found = _OF.get(given.dtype)
        if cls._dtype is None and found is None:
            raise ValueError(f"There is no RaggedBuffer of {given.dtype}: float32, int64 and bool have one.")
        if cls._dtype is not None and found is not _OF[np.dtype(cls._dtype)]:
            raise TypeError(f"{cls.__name__} has values of type {np.dtype(cls._dtype)}, not {given.dtype}.")
        return found if cls._dtype is None else cls

    @classmethod
    def _as_this(cls, other: ragged.Ragged) -> Self:
        return cls._of(other.values, other.lengths)


class RaggedBufferF32(RaggedBuffer):
    """Values are float32."""

    _dtype = np.float32


class RaggedBufferI64(RaggedBuffer):
    """Values are int64."""

    _dtype = np.int64


class RaggedBufferBool(RaggedBuffer):
    """Values are bool."""

    _dtype = np.bool_


_OF = {np.dtype(cls._dtype): cls for cls in (RaggedBufferF32, RaggedBufferI64, RaggedBufferBool)}


def cat(buffers: Sequence[RaggedBuffer], dim: int = 0) -> RaggedBuffer:
    """Join ragged buffers along sequences (dim 0), items (1) or features (2); see `utils.ragged.arrays.cat`."""
    return ragged.cat(buffers, dim)


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
    for name, one in (("translation", translation), ("rotation", rotation)):
        if (one.lengths != 1).any():
            raise ValueError(f"translate_rotate: {name} has one item in each sequence.")
    source -= translation
    direction = np.repeat(rotation.values, source.lengths, axis=0)
    moved = source.values
    turned = np.stack([(direction * moved).sum(1), direction[:, 0] * moved[:, 1] - direction[:, 1] * moved[:, 0]], 1)
    source._replace(turned)
