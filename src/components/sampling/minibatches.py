"""Several passes over one batch, in parts drawn at random (Schulman et al. 2017, algorithm 1)."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch as th

from components.episode_batch import EpisodeBatch
from components.sampling.compose import Minibatches
from utils.tensors.devices import to_device


def shuffled_minibatches(batch: EpisodeBatch, context: Any, parts: int, epochs: int = 1) -> Minibatches:
    """`epochs` passes over the rows of a batch, which are single steps, in `parts` batches each."""
    return recurrent_minibatches(batch, context, parts, epochs)


def recurrent_minibatches(batch: EpisodeBatch, context: Any, parts: int, epochs: int = 1) -> Minibatches:
    """`epochs` passes over the rows of a batch, each a whole sequence, in `parts` batches each."""
    return Minibatches(_parts(batch, epochs, parts))


def _parts(batch: EpisodeBatch, epochs: int, parts: int) -> Iterator[EpisodeBatch]:
    """The parts of all passes: rows are copied into their order once a pass, and parts are views of that copy."""
    for order in passes(rows(batch), epochs, 1):
        shuffled, start = batch[order], 0
        for part in order.tensor_split(parts):
            if len(part):
                yield shuffled[start : start + len(part)]
                start += len(part)


def passes(items: th.Tensor, n_epochs: int, n_minibatches: int, rng: Any = np.random) -> Iterator[th.Tensor]:
    """`n_epochs` times all `items`, each time in another order and in `n_minibatches` parts of nearly equal size.

    Args:
        items: to divide, `[N, ...]`: `rows(batch)` or `transitions(mask)`.
        rng: NumPy's generator: torch's belongs to acting, which may run meanwhile.

    Yields:
        parts of `items`; those that would be empty, because there are fewer items than parts, are left out.
    """
    for _ in range(n_epochs):
        order = to_device(th.as_tensor(rng.permutation(len(items))), items.device)
        for part in order.tensor_split(n_minibatches):
            if len(part):
                yield items[part]


def rows(batch: Any) -> th.Tensor:
    """All rows of a batch, int64 `[B]`: for networks that see whole sequences. `batch[part]` are those of a part."""
    return th.arange(batch.batch_size)


def transitions(mask: th.Tensor) -> th.Tensor:
    """Where `mask` `[B, T, ...]` is not 0, int64 `[P, axes]`: for networks that see single steps.

    `x[tuple(part.T)]` are the values of a part in `x` `[B, T, ...]`.
    """
    return mask.nonzero()
