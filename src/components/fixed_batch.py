"""Batches of captured graphs, which are the same memory each time."""

from collections.abc import Sequence
from types import SimpleNamespace

import torch as th

from components.episode_batch import EpisodeBatch


class FixedBatch(EpisodeBatch):
    """A batch whose values nobody can ask for: networks are unrolled over it in shapes that these do not decide."""

    @classmethod
    def like(cls, batch: EpisodeBatch, tensors: Sequence[th.Tensor]) -> "FixedBatch":
        """With these in place of the batch's, in the order of `tensors_of`."""
        steps, constant = batch.data.transition_data, batch.data.episode_data
        parts = SimpleNamespace(
            transition_data=dict(zip(steps, tensors, strict=False)),
            episode_data=dict(zip(constant, tensors[len(steps) :], strict=True)),
        )
        sizes = batch.batch_size, batch.max_seq_length
        return cls(batch.scheme, batch.groups, *sizes, data=parts, preprocess=batch.preprocess, device=batch.device)

    def course(self) -> EpisodeBatch:
        raise TypeError("The values of a batch in a captured graph cannot be asked for.")


def tensors_of(batch: EpisodeBatch) -> list[th.Tensor]:
    """All of its fields."""
    return [*batch.data.transition_data.values(), *batch.data.episode_data.values()]
