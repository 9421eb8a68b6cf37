"""The last steps of episodes that are played side by side, each at its own step, in memory that is ordered by time.

All of them write into the same slot, side by side in memory, whichever step each has come to; an episode is read from
the slot in which it began.
"""

from types import SimpleNamespace
from typing import Any

import numpy as np

from components.episode_batch import EpisodeBatch


class RecentSteps:
    """The last T steps of B copies, a ring of T slots.

    Args:
        like: a batch of B episodes and T steps, whose fields and device are taken.

    Attributes:
        batch: the slots, for a `StepWriter`; `filled` is 1 everywhere, as nobody reads what was not written.
        slot: the present one.
    """

    def __init__(self, like: EpisodeBatch):
        data = SimpleNamespace(
            transition_data={
                key: tensor.new_zeros((tensor.size(1), tensor.size(0), *tensor.shape[2:])).transpose(0, 1)
                for key, tensor in like.data.transition_data.items()
            },
            episode_data=like.data.episode_data,
        )
        data.transition_data["filled"].fill_(1)
        sizes = like.batch_size, like.max_seq_length
        self.batch = EpisodeBatch(
            like.scheme, like.groups, *sizes, data=data, preprocess=like.preprocess, device=like.device
        )
        self.slot, self._slots = 0, like.max_seq_length
        self._source = fields_of(self.batch)
        # the batch to which episodes were copied last: its fields, and those here
        self._target: EpisodeBatch | None = None
        self._pairs: list[tuple[Any, Any]] = []

    def advance(self) -> None:
        """Let the next slot be the present one."""
        self.slot = (self.slot + 1) % self._slots

    def copy_to(self, batch: EpisodeBatch, entry: int, copy: int, steps: int, end: int) -> None:
        """Copy the `steps` steps before the slot `end` of one copy to the beginning of a batch's entry."""
        first = (end - steps) % self._slots
        until_end = min(steps, self._slots - first)
        if batch is not self._target:
            self._target, targets = batch, fields_of(batch)
            self._pairs = [(targets[key], source) for key, source in self._source.items()]
        for target, source in self._pairs:
            target[entry, :until_end] = source[copy, first : first + until_end]
        if until_end < steps:
            for target, source in self._pairs:
                target[entry, until_end:steps] = source[copy, : steps - until_end]

    def copy_from(self, batch: EpisodeBatch, steps: np.ndarray) -> None:
        """Take the first `steps[b]` steps of entry b for the last ones of copy b; the present slot is then behind
        them all."""
        self.slot = int(steps.max()) % self._slots
        fields = fields_of(batch)
        for copy, count in enumerate(steps.tolist()):
            places = np.arange(self.slot - count, self.slot) % self._slots
            for key, target in self._source.items():
                target[copy, places] = fields[key][copy, :count]


def fields_of(batch: EpisodeBatch) -> dict[str, Any]:
    """The fields of steps: as arrays on their memory if that is the CPU's, else as tensors."""
    tensors = batch.data.transition_data
    return dict(zip(tensors, batch.arrays(tensors), strict=True)) if str(batch.device) == "cpu" else tensors
