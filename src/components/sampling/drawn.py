"""Steps drawn from a buffer of transitions, before the fields around them are read."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch as th

from components.episode_batch import EpisodeBatch
from components.sampling.fields import add_constant
from utils.tensors.devices import same_device


@dataclass
class Drawn:
    """What a buffer of transitions gives to the first transform, which makes a batch of it (`window`).

    Args:
        ring: has the steps, see `components.buffers.frame_ring.FrameRing`.
        numbers: of the steps that were drawn, int64 `[B]`.
        constant: fields of each, such as `ids` and `weights`, `[B, ...]`.
        device: of the batch.
    """

    ring: Any
    numbers: np.ndarray
    constant: dict[str, th.Tensor] = field(default_factory=dict)
    device: str = "cpu"

    def window(self, steps: int) -> EpisodeBatch:
        """Each step with the `steps` after it, `[B, steps + 1, ...]`: not filled beyond the end of its episode."""
        numbers = np.empty((len(self.numbers), steps + 1), dtype=np.int64)
        known = np.ones(numbers.shape, dtype=bool)
        numbers[:, 0] = self.numbers
        for t in range(steps):
            before = numbers[:, t]
            numbers[:, t + 1] = after = self.ring.following(before)
            known[:, t + 1] = after != before
        batch = self.ring.batch(numbers, known)
        if self.constant:
            add_constant(batch, self.constant)
        if not same_device(batch.device, self.device):
            batch.to(self.device)
        return batch
