"""What the loop, checkpoints and learners ask of a buffer."""

from collections.abc import Mapping
from typing import Any, Protocol

import torch as th

from checkpoints.journal import Journal
from components.episode_batch import EpisodeBatch


class Buffer(Protocol):
    """Takes in what was played and says what to learn from.

    A registered class is built as `Buffer(scheme, groups, columns, preprocess, args, logger)`: the first four describe
    the batches that runners bring (`EpisodeBatch`), `args` is the config with what assembly adds. The constructor
    refuses sizes for which there is no memory.
    """

    # the fields of a sample, derived ones included, as an EpisodeBatch has them
    scheme: Mapping[str, dict]
    groups: Mapping[str, int]
    preprocess: Mapping[str, tuple]
    # how checkpoints save what it holds; None if every `insert` replaces all of it, so that nothing has to be saved
    journal: Journal | None

    def insert(self, batch: EpisodeBatch) -> int:
        """Take in a rollout. Returns how many transitions it has (`utils.rl_utils.valid_transitions`)."""

    def ready(self) -> bool:
        """Whether it holds enough for a sample."""

    def sample(self) -> EpisodeBatch:
        """What to learn from now: a batch on the learner's device, as long as its longest episode.

        Random choices are drawn from NumPy's global generator, which only learning uses.

        Raises:
            ValueError: it is not ready.
        """

    def sample_size(self) -> float:
        """How many transitions a sample has on average, as far as that can be known now."""

    def state_dict(self) -> dict[str, Any]:
        """Its counts; what the journal saves is not repeated."""

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Take over the counts, before the journal puts the records back."""


class PrioritisedBuffer(Buffer, Protocol):
    """A buffer whose samples say with `ids` `[B]` (int64) which of its records they are."""

    def update_priorities(self, ids: th.Tensor, values: th.Tensor) -> None:
        """Give the records `ids` `[B]` the priorities `values` `[B]` (float, 0 or more).

        Ids are numbers of the journal; those of records that have been overwritten since are left out.
        """


class HoldOutBuffer(Buffer, Protocol):
    """A buffer that never samples a part of its records, by which overfitting is seen."""

    def hold_out(self) -> EpisodeBatch | None:
        """A sample of what is never trained on; None as long as there is too little of it."""
