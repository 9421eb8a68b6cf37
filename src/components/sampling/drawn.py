"""Steps drawn from a buffer of transitions, before the fields around them are read."""

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch as th

from components.episode_batch import EpisodeBatch


@dataclass
class Drawn:
    """What a buffer of transitions gives to the first sample unit, which makes a batch of it (`window`).

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
        columns, known = [self.numbers], [np.ones(len(self.numbers), dtype=bool)]
        for _ in range(steps):
            after = self.ring.following(columns[-1])
            known.append(after != columns[-1])
            columns.append(after)
        batch = self.ring.batch(np.stack(columns, axis=1), np.stack(known, axis=1))
        scheme = {
            key: {"vshape": x.shape[1:], "dtype": x.dtype, "episode_const": True} for key, x in self.constant.items()
        }
        data = SimpleNamespace(transition_data=batch.data.transition_data, episode_data=dict(self.constant))
        batch = EpisodeBatch(
            {**batch.scheme, **scheme}, batch.groups, len(self.numbers), steps + 1, data=data, device=batch.device
        )
        if str(batch.device) != self.device:
            batch.to(self.device)
        return batch
