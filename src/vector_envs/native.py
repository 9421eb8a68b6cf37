"""An environment that is made as many copies, as a source of environments."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from envs.contract.declarations import spec_of
from replays.offered import offered
from vector_envs.contract import StepOutcome, infos_of
from vector_envs.parts import require_parts


class NativeEnv:
    """A `VectorEnv` round a `BatchedEnv`; see `train_and_test.TrainAndTest` for the rest of the contract.

    Args:
        env: the copies.
        size: how many there are.
    """

    def __init__(self, env: Any, size: int):
        self.env, self.spec = env, spec_of(env, size)
        self.by_copy = bool(getattr(env, "state_by_copy", False))
        self._nothing_lost = np.zeros(size, dtype=bool)

    def reset(self, which: np.ndarray | None = None) -> None:
        self.env.reset(which)

    def step(self, actions: Mapping[str, np.ndarray]) -> StepOutcome:
        if self.spec.declared:
            return StepOutcome(*self.env.step(actions)[:3], self._nothing_lost)
        reward, ended, truncated = self.env.step(actions["actions"])
        if not ended.dtype == truncated.dtype == bool:  # the runner's checks report the problem
            return StepOutcome({"reward": reward}, ended, truncated, self._nothing_lost)
        return StepOutcome({"reward": reward}, ended & ~truncated, truncated, self._nothing_lost)

    def observed(self) -> Mapping[str, np.ndarray]:
        return self.env.observed()

    def info(self, b: int) -> dict[str, Any]:
        return self.env.info(b)

    def infos_at(self, rows: np.ndarray) -> list[dict[str, Any]]:
        return infos_of(self.env, rows)

    def snapshot(self) -> dict[str, Any]:
        return offered(self.env, "snapshot")

    def scene(self) -> dict[str, Any]:
        return offered(self.env, "scene")

    def action_names(self) -> list[list[str]] | None:
        return offered(self.env, "action_names")

    def save_replay(self) -> Any:
        return offered(self.env, "save_replay")

    def state_dict(self) -> dict[str, Any]:
        """Where the copies are.

        Raises:
            NotImplementedError: they cannot be saved.
        """
        if not hasattr(self.env, "state_dict"):
            raise NotImplementedError(f"{type(self.env).__name__} cannot be saved")
        return self.env.state_dict()

    def load_state_dict(self, state: dict[str, Any]) -> None:
        require_parts(state, [])
        self.env.load_state_dict(state)

    def take_live(self, name: str, value: Any) -> None:
        self.env.take_live(name, value)

    def close(self) -> None:
        self.env.close()
