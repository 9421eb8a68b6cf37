"""Environments in other processes as training, or tests, see them now."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from vector_envs.process import WorkerProcess
from vector_envs.step_arrays import StepArrays


@dataclass
class Side:
    """The present state of the environments of training, or of those of tests.

    `begun`: bool `[B]`, has started an episode. `playing`: bool `[B]`, is in one. `lost`: bool `[B]`, an episode has
    become void since the last step. `busy`: the workers with an environment that plays.
    """

    arrays: StepArrays
    infos: list[dict]
    begun: np.ndarray
    playing: np.ndarray
    lost: np.ndarray
    busy: list[WorkerProcess] = field(default_factory=list)

    @classmethod
    def of(cls, arrays: StepArrays, count: int) -> "Side":
        """The one of `count` environments that have not started."""
        begun, playing, lost = np.zeros((3, count), dtype=bool)
        return cls(arrays, [{} for _ in range(count)], begun, playing, lost)

    def note_busy(self, workers: Sequence[WorkerProcess]) -> None:
        """Note which of all workers have an environment that plays."""
        self.busy = [worker for worker in workers if self.playing[worker.rows].any()]

    def note_lost(self, indices: Sequence[int]) -> None:
        """Note that the episodes of these environments, where they are in one, are void."""
        unfinished = [index for index in indices if self.playing[index]]
        self.lost[unfinished], self.playing[unfinished] = True, False
