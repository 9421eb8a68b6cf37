"""Environments of this process, stepped in turn."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from envs.contract.declarations import spec_of
from envs.contract.saving import state_or_none
from replays.offered import offered
from vector_envs.contract import StepOutcome
from vector_envs.declared_row import row_of
from vector_envs.step_arrays import StepArrays


class InProcessEnv:
    """B environments as a `VectorEnv`; see `train_and_test.TrainAndTest` for the rest of the contract.

    Args:
        factories: one for each.
    """

    def __init__(self, factories: Sequence[Callable[[], Any]]):
        self.envs: list[Any] = []
        try:
            for make in factories:
                self.envs.append(make())
            self.spec = spec_of(self.envs[0], len(factories))
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
    def restarts_by_reset(self) -> bool:
        """Whether all environments say that they are after a reset what another one in their place would be."""
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

    def snapshot(self) -> dict[str, Any]:
        return offered(self.envs[0], "snapshot")

    def scene(self) -> dict[str, Any]:
        return offered(self.envs[0], "scene")

    def action_names(self) -> list[list[str]] | None:
        return offered(self.envs[0], "action_names")

    def save_replay(self) -> Any:
        return offered(self.envs[0], "save_replay")

    def state_dict(self) -> dict[str, Any]:
        """The state of the environments.

        Raises:
            NotImplementedError: one of them cannot be saved.
        """
        states = [state_or_none(env) for env in self.envs]
        if None in states:
            raise NotImplementedError(f"{type(self.envs[0]).__name__} cannot be saved")
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
            env.close()
