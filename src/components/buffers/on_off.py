"""The buffer of learners that learn from the newest episodes and, beside them, from old ones: RIIT, DOP."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import torch as th

from components.buffers.episodes import EpisodeReplay
from components.episode_batch import EpisodeBatch
from utils.tensors.devices import same_device


class OnOffReplay(EpisodeReplay):
    """The last `buffer_size` episodes; a sample has `off_batch_size` of all, and then the `batch_size` newest.

    With `recent_size`, `batch_size` of the so many newest stand before both. Those of a part are different ones, drawn
    uniformly.
    """

    def __init__(
        self, scheme: dict, groups: dict, max_seq_length: int, preprocess: dict, args: SimpleNamespace, logger: Any
    ) -> None:
        super().__init__(scheme, groups, max_seq_length, preprocess, args, logger)
        self._off, self._recent = args.off_batch_size, args.recent_size

    def _build_priorities(self, args: SimpleNamespace) -> None:
        """All are drawn alike."""

    @staticmethod
    def _sample_rows(args: SimpleNamespace) -> int:
        return args.off_batch_size + args.batch_size * (2 if args.recent_size else 1)

    def ready(self) -> bool:
        return self.episodes.can_sample(max(self._batch_size, self._off, self._recent))

    def sample(self) -> EpisodeBatch:
        if not self.ready():
            raise ValueError(f"Cannot sample from {self.episodes.episodes_in_buffer} episodes.")
        held, newest = self.episodes.episodes_in_buffer, self.episodes.inserted - 1 - np.arange(self._batch_size)
        recent = np.random.choice(self._recent, self._batch_size, replace=False) if self._recent else []
        recent = self.episodes.inserted - 1 - np.asarray(recent, dtype=np.int64)
        rows = [recent, np.random.choice(held, self._off, replace=False), newest]
        sample = self.episodes.of_rows(th.as_tensor(np.concatenate(rows) % self.episodes.buffer_size))
        if not same_device(sample.device, self._device):
            sample.to(self._device)
        return sample
