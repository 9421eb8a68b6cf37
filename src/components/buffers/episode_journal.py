"""The journal of a replay buffer: its episodes as checkpoints save them."""

from collections.abc import Callable, Iterator

import numpy as np
import torch as th

from checkpoints.journal import Arrays
from components.buffers.replay_buffer import ReplayBuffer
from components.storage import require_arrays

# how much of the buffer is in one block
BLOCK_BYTES = 8 * 2**20
STEP, EPISODE, LENGTHS, TRANSITIONS = "step/", "episode/", "lengths", "transitions"


class EpisodeJournal:
    """A record is an episode as it is stored (`Journal`).

    A block has, cut after its longest episode, `step/<field>` `[k, steps, ...]`; `episode/<field>` `[k, ...]`; and as
    int64 `[k]`, `lengths`, how many steps of each were written, and `transitions`.

    Args:
        buffer: the episodes.
        transitions: of the episode in each place of the buffer, int64 `[buffer_size]`.
    """

    def __init__(self, buffer: ReplayBuffer, transitions: np.ndarray):
        self._buffer, self._transitions = buffer, transitions

    @property
    def first(self) -> int:
        return self._buffer.inserted - self._buffer.episodes_in_buffer

    @property
    def stop(self) -> int:
        return self._buffer.inserted

    @property
    def edits(self) -> int:
        return self._buffer.edits

    def before_overwrite(self, wait: Callable[[int], None]) -> None:
        self._buffer.before_overwrite = wait

    def rows(self, first: int, stop: int) -> Iterator[tuple[int, Arrays]]:
        size = self._buffer.buffer_size
        at_once = max(1, BLOCK_BYTES // max(1, self._buffer.nbytes // size))
        while first < stop:
            row = first % size
            count = min(at_once, size - row, stop - first)
            first += count
            yield first, self._block(slice(row, row + count))

    def _block(self, rows: slice) -> Arrays:
        lengths = self._buffer.written_steps[rows]
        longest = int(lengths.max())
        return {
            **{key: tensor[rows, :longest].cpu().numpy() for key, tensor in self._fields(STEP).items()},
            **{key: tensor[rows].cpu().numpy() for key, tensor in self._fields(EPISODE).items()},
            LENGTHS: lengths,
            TRANSITIONS: self._transitions[rows],
        }

    def _fields(self, kind: str) -> dict[str, th.Tensor]:
        data = self._buffer.data
        stored = data.transition_data if kind == STEP else data.episode_data
        return {f"{kind}{key}": tensor for key, tensor in stored.items()}

    def put(self, first: int, arrays: Arrays) -> None:
        lengths = arrays.get(LENGTHS, ())
        count = len(lengths)
        row = first % self._buffer.buffer_size
        longest = self._require_own(arrays, count)
        if row + count > self._buffer.buffer_size:
            raise ValueError(f"{count} episodes from place {row} on do not lie beside each other")
        rows = slice(row, row + count)
        for key, tensor in self._fields(STEP).items():
            tensor[rows, :longest] = th.from_numpy(arrays[key])
        for key, tensor in self._fields(EPISODE).items():
            tensor[rows] = th.from_numpy(arrays[key])
        self._buffer.written_steps[rows] = lengths
        self._transitions[rows] = arrays[TRANSITIONS]

    def _require_own(self, arrays: Arrays, count: int) -> int:
        """How many steps the episodes in `arrays` have.

        Raises:
            ValueError: other fields, types or shapes than this buffer's.
        """
        steps = {array.shape[1] for key, array in arrays.items() if key.startswith(STEP) and array.ndim > 1}
        longest = min(steps, default=0)
        own = {
            **{key: (tensor.dtype, (count, longest, *tensor.shape[2:])) for key, tensor in self._fields(STEP).items()},
            **{key: (tensor.dtype, (count, *tensor.shape[1:])) for key, tensor in self._fields(EPISODE).items()},
            **dict.fromkeys((LENGTHS, TRANSITIONS), (th.int64, (count,))),
        }
        require_arrays(arrays, own)
        lengths = arrays[LENGTHS]
        if count and not (lengths.min() >= 0 and lengths.max() <= longest <= self._buffer.max_seq_length):
            raise ValueError(f"episodes of {lengths.min()} to {lengths.max()} steps in arrays of {longest}")
        return longest
