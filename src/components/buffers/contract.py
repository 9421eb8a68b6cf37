"""The contract of a buffer with the loop, checkpoints and learners."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import torch as th

from checkpoints.journal import Journal
from components.episode_batch import EpisodeBatch


class Buffer(Protocol):
    """Takes in experience and samples batches to learn from.

    A registered class is built as `Buffer(scheme, groups, max_seq_length, preprocess, args, logger)`: the first four
    describe the runners' batches (`EpisodeBatch`), `args` is the config with the sizes that assembly adds. The
    constructor refuses sizes that do not fit the memory.
    """

    # the fields of a sample, derived ones included, as an EpisodeBatch has them
    scheme: Mapping[str, dict]
    groups: Mapping[str, int]
    preprocess: Mapping[str, tuple]
    # the device of its tensors, and the one on which it takes rollouts apart: where all buffers do so in main memory
    # ("cpu"), rollouts come there, in one copy
    kept_on: str
    taken_on: str
    # what it takes where, for a person: the words of `components.sizing`, a device, bytes; a buffer may leave it out
    takes: Sequence[tuple[str, str, int]]
    # saves the content in checkpoints; None if every `insert` replaces all of it, which need not be saved
    journal: Journal | None

    def insert(self, batch: EpisodeBatch, source: int = 0) -> int:
        """Insert a rollout. Returns the number of its transitions (`utils.rl_utils.valid_transitions`).

        Args:
            source: of the runner that brought it; the rows of a rollout continue those of the last one of its source.
        """

    def ready(self) -> bool:
        """Whether it holds enough for a sample."""

    def sample(self) -> EpisodeBatch:
        """The next batch to learn from, on the learner's device, as long as its longest episode.

        Random choices are drawn from NumPy's global generator, which only learning uses.

        Raises:
            ValueError: it is not ready.
        """

    def sample_size(self) -> float:
        """The mean number of transitions in a sample, as far as known."""

    def state_dict(self) -> dict[str, Any]:
        """Its counts, without the content, which the journal saves."""

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore the counts, before the journal restores the records."""


class PrioritisedBuffer(Buffer, Protocol):
    """A buffer whose samples have the numbers of their records, `ids` `[B]` (int64)."""

    def update_priorities(self, ids: th.Tensor, values: th.Tensor) -> None:
        """Give the records `ids` `[B]` the priorities `values` `[B]` (float, 0 or more).

        Ids are the journal's numbers; ids of overwritten records are ignored.
        """


class HoldOutBuffer(Buffer, Protocol):
    """A buffer that never samples a part of its records, to detect overfitting."""

    def hold_out(self) -> EpisodeBatch | None:
        """A sample of the held-out records; None as long as there are too few."""
