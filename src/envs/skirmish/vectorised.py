"""Skirmish for runners that step many battles with one call (`vector_envs.contract.BatchedEnv`)."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from envs.skirmish.environment import SkirmishEnv


class SkirmishBatch(SkirmishEnv):
    """B battles; see `SkirmishEnv` for the rest.

    Args:
        batch_size: B.
        seed: as of `batch.BatchedSkirmish`: a list of B seeds, or a number.
        threads: numba threads that share the battles.
    """

    def __init__(self, batch_size: int, threads: int = 1, **env_args: Any):
        self._set_up(env_args, batch_size=batch_size, threads=threads)

    def seed(self, seed: int | Sequence[int] | None = None) -> int | Sequence[int] | None:
        if seed is None:
            return self.options.seed
        self.battles.seed(seed)
        return seed

    def reset(self, which: np.ndarray | None = None) -> None:
        self.battles.reset(which)
        if which is None or which[0]:
            self._recorder.begin()

    def step(self, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """See `BatchedEnv.step`.

        Raises:
            ValueError: an illegal action.
        """
        first_plays = not self.battles.battles.battle["ended"][0]
        outputs = self.battles.step(actions)
        if first_plays:
            self._recorder.add(outputs.reward[0], self._info(0))
        truncated = outputs.truncated if self.options.continuing_episode else np.zeros_like(outputs.truncated)
        return outputs.reward, outputs.terminated, truncated

    def observed(self) -> dict[str, np.ndarray]:
        outputs = self.battles.outputs
        return {"obs": outputs.obs, "state": outputs.state, "avail_actions": outputs.avail_actions}

    def info(self, b: int) -> dict[str, Any]:
        return self._info(b)
