"""Environments of this process, stepped in turn."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from envs.contract.declarations import spec_of
from envs.contract.saving import state_or_none
from vector_envs.contract import StepOutcome
from vector_envs.environment_row import close_environment, row_of
from vector_envs.step_arrays import StepArrays
from vector_envs.train_and_test import LocalCopies


class InProcessCopies(LocalCopies):
    """B environments; `factories` make one each."""

    def __init__(self, factories: Sequence[Callable[[], Any]]):
        self.envs: list[Any] = []
        try:
            for make in factories:
                self.envs.append(make())
            self.first = self.envs[0]
            self.spec = spec_of(self.first, len(factories))
        except BaseException:
            self.close()
            raise
        size = len(self.envs)
        self._arrays = StepArrays.allocate(self.spec, size)
        self._rows = [row_of(self._arrays, b) for b in range(size)]
        # copies that have started an episode, and copies that are in one
        self._begun, self._playing = np.zeros(size, dtype=bool), np.zeros(size, dtype=bool)
        self._infos: list[dict[str, Any]] = [{} for _ in range(size)]
        self._nothing_lost = np.zeros(size, dtype=bool)

    @property
    def restarts_by_reset(self) -> bool:  # type: ignore[override]
        return all(getattr(env, "restarts_by_reset", False) for env in self.envs)

    def reset(self, which: np.ndarray | None = None) -> None:
        for b in range(len(self.envs)) if which is None else np.flatnonzero(which).tolist():
            self.envs[b].reset()
            self._rows[b].write_reset(self.envs[b])
            self._begun[b] = self._playing[b] = True

    def step(self, actions: Mapping[str, np.ndarray]) -> StepOutcome:
        arrays = self._arrays
        arrays.put_actions(slice(None), actions)
        for b in np.flatnonzero(self._playing).tolist():
            outcome = self._rows[b].step(self.envs[b])
            self._infos[b] = outcome.info
            self._playing[b] = not outcome.ended
        return StepOutcome(arrays.outcomes, arrays.terminated, arrays.truncated, self._nothing_lost)

    def observed(self) -> Mapping[str, np.ndarray]:
        return self._arrays.shown

    def info(self, b: int) -> dict[str, Any]:
        return self._infos[b]

    def state_dict(self) -> dict[str, Any]:
        states = [state_or_none(env) for env in self.envs]
        if None in states:
            return super().state_dict()
        return {"envs": states, "begun": self._begun.copy(), "playing": self._playing.copy()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        for env, saved in zip(self.envs, state["envs"], strict=True):
            env.load_state_dict(saved)
        self._begun[:], self._playing[:] = state["begun"], state["playing"]
        for b in np.flatnonzero(self._begun).tolist():
            self._rows[b].write_seen(self.envs[b])

    def take_live(self, name: str, value: Any) -> None:
        for env in self.envs:
            env.take_live(name, value)

    def close(self) -> None:
        for env in self.envs:
            close_environment(env)
