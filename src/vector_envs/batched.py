"""An environment that is made as many copies, as a source of environments."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from envs.contract.declarations import spec_of
from vector_envs.contract import StepOutcome
from vector_envs.environment_row import close_environment
from vector_envs.parts import require_parts
from vector_envs.train_and_test import LocalCopies


class BatchedCopies(LocalCopies):
    """Copies that an environment of all of them plays.

    Args:
        env: the copies, a `BatchedEnv`.
        size: how many there are.
    """

    def __init__(self, env: Any, size: int):
        self.env = self.first = env
        self.spec = spec_of(env, size)
        self.by_copy = bool(getattr(env, "state_by_copy", False))
        self._loses, self._nothing_lost = hasattr(env, "lost"), np.zeros(size, dtype=bool)

    def reset(self, which: np.ndarray | None = None) -> None:
        self.env.reset(which)

    def step(self, actions: Mapping[str, np.ndarray]) -> StepOutcome:
        if self.spec.declared:
            values, terminated, truncated, *_ = self.env.step(actions)
            return StepOutcome(values, terminated, truncated, self.env.lost if self._loses else self._nothing_lost)
        reward, ended, truncated = self.env.step(actions["actions"])
        if not ended.dtype == truncated.dtype == bool:  # the runner's checks report the problem
            return StepOutcome({"reward": reward}, ended, truncated, self._nothing_lost)
        return StepOutcome({"reward": reward}, ended & ~truncated, truncated, self._nothing_lost)

    def observed(self) -> Mapping[str, np.ndarray]:
        return self.env.observed()

    def info(self, b: int) -> dict[str, Any]:
        return self.env.info(b)

    def infos_at(self, rows: np.ndarray) -> list[dict[str, Any]]:
        return self.env.infos_at(rows) if hasattr(self.env, "infos_at") else super().infos_at(rows)

    def state_dict(self) -> dict[str, Any]:
        return self.env.state_dict() if hasattr(self.env, "state_dict") else super().state_dict()

    def load_state_dict(self, state: dict[str, Any]) -> None:
        require_parts(state, [])
        self.env.load_state_dict(state)

    def take_live(self, name: str, value: Any) -> None:
        self.env.take_live(name, value)

    def close(self) -> None:
        close_environment(self.env)
