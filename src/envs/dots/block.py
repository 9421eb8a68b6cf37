"""What a turn has changed in a file, read in as few pieces as pay, into arrays that are made once for each file."""

import os
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from dots_simulator.groups import GroupLayout
from envs.dots.shared_file import SharedFile

# to read so many bytes more costs less than another call of the system
GAP = 2**13
# that one call of the system takes
MOST_BUFFERS = 512


class Piece(NamedTuple):
    """Bytes `begin` .. `end` of a file, and where they go: buffers of as many bytes in all."""

    begin: int
    end: int
    buffers: list[memoryview | bytearray]


class Block:
    """The decisions of a group, or its ended agents: their number, and their arrays by name ("obs/0", "reward" ...).

    Args:
        file: with the group.
        layout: of the group.
        begin: of the group in the file.
        name: decisions or ended.
        at_once: bytes up to which the block is read in every turn as a whole; of a bigger one only the rows that there
            are, where they are asked for.
    """

    def __init__(self, file: SharedFile, layout: GroupLayout, begin: int, name: str, at_once: int):
        self._file = file
        # of one number: rows that the simulator shows, as it says
        self.count = memoryview(bytearray(4)).cast("i")
        # protocol 0 has masks, which nobody writes where they belong
        arrays = {
            path.removeprefix(f"{name}/"): array
            for path, array in layout.arrays.items()
            if path.startswith(f"{name}/") and not (layout.protocol == "0" and path.endswith("/mask"))
        }
        count = arrays.pop("count")
        # by name: offset in the file, dtype, shape of one agent's entry
        self._places = {
            key: (begin + array.offset, np.dtype(array.dtype), array.shape[1:]) for key, array in arrays.items()
        }
        n = self._most = layout.spec.max_agents
        sizes = {key: n * dtype.itemsize * int(np.prod(shape)) for key, (_, dtype, shape) in self._places.items()}
        begin += count.offset
        size = 4 + sum(sizes.values())
        # None: rows are read when they are asked for
        self._staged: dict[str, np.ndarray] | None = None
        buffers: list[memoryview | bytearray] = [self.count]
        if size <= at_once:
            self._staged = {key: np.zeros((n, *shape), dtype) for key, (_, dtype, shape) in self._places.items()}
            buffers += [memoryview(array.reshape(-1).view(np.uint8)) for array in self._staged.values() if array.nbytes]
        # what rows of all kinds have
        self._common = [key for key in self._places if key.startswith("obs/")] + ["reward", "agent_id"]
        self._arrays = None if self._staged is None else [self._staged[key] for key in self._common]
        self.piece = Piece(begin, begin + (4 if self._staged is None else size), buffers)

    def rows(self, name: str, count: int, copy: bool = True) -> np.ndarray:
        """The first rows of an array; without `copy`, perhaps in memory that the next turn fills again."""
        if self._staged is None:
            offset, dtype, shape = self._places[name]
            return self._file.fill(np.empty((count, *shape), dtype), offset)
        found = self._staged[name][:count]
        return found.copy() if copy else found

    def bytes_from(self, name: str, size: int) -> np.ndarray:
        """So many bytes from where an array begins, also of what lies behind it: uint8 `[size]`."""
        return self._file.fill(np.empty(size, np.uint8), self._places[name][0])

    def common(self, count: int, copy: bool = True) -> list[np.ndarray]:
        """`rows` of the observations, "reward" and "agent_id"."""
        if self._arrays is None:
            return [self.rows(name, count) for name in self._common]
        shown = self._arrays if count == self._most else [array[:count] for array in self._arrays]
        return [array.copy() for array in shown] if copy else shown


class TurnReader:
    """Reads pieces of a file that change with a turn.

    Args:
        file: with the pieces.
        pieces: that do not overlap.
    """

    def __init__(self, file: SharedFile, pieces: Sequence[Piece]):
        self._file = file
        joined: list[Piece] = []
        for piece in sorted(pieces, key=lambda one: one.begin):
            if joined and self._joins(joined[-1], piece):
                before = joined.pop()
                gap = [bytearray(piece.begin - before.end)] if piece.begin > before.end else []
                piece = Piece(before.begin, piece.end, [*before.buffers, *gap, *piece.buffers])
            joined.append(piece)
        self._reads = [(piece.begin, piece.end - piece.begin, piece.buffers) for piece in joined]

    def read(self) -> None:
        """Fill all buffers.

        Raises:
            SimulatorFault: the file has become shorter.
        """
        for begin, size, buffers in self._reads:
            if os.preadv(self._file.descriptor, buffers, begin) != size:
                raise self._file.shorter(begin + size)

    @staticmethod
    def _joins(before: Piece, after: Piece) -> bool:
        return after.begin - before.end <= GAP and len(before.buffers) + len(after.buffers) < MOST_BUFFERS
