"""One `MultiAgentEnv` in this process, as a batch of one."""

from typing import Any

import numpy as np

from envs.saving import state_or_none
from envs.sizes import check_sizes
from replays.offered import offered
from vector_envs.step_arrays import EnvironmentRow, StepArrays


class SingleEnvironment:
    """A `BatchedEnv` of one copy."""

    def __init__(self, env: Any):
        self.env = env
        env_info = env.get_env_info()
        check_sizes(env_info)
        self.n_agents = env_info["n_agents"]
        self.episode_limit = env_info["episode_limit"]
        self._arrays = StepArrays.allocate(env_info, 1)
        self._row = EnvironmentRow(self._arrays, 0)
        self._info: dict[str, Any] = {}

    def reset(self, which: np.ndarray | None = None) -> None:
        self.env.reset()
        self._row.write_reset(self.env)

    def step(self, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """See `BatchedEnv.step`."""
        outcome = self._row.write_step(self.env, self.env.step(actions[0].copy()))  # which it may keep
        self._info = outcome.info
        return self._arrays.reward, self._arrays.terminated, self._arrays.truncated

    def observed(self) -> dict[str, np.ndarray]:
        return {"obs": self._arrays.obs, "state": self._arrays.state, "avail_actions": self._arrays.avail_actions}

    def info(self, b: int) -> dict[str, Any]:
        return self._info

    def get_env_info(self) -> dict[str, Any]:
        return self.env.get_env_info()

    def snapshot(self) -> dict[str, Any]:
        return offered(self.env, "snapshot")

    def scene(self) -> dict[str, Any]:
        return offered(self.env, "scene")

    def action_names(self) -> list[list[str]] | None:
        return offered(self.env, "action_names")

    def save_replay(self) -> Any:
        return self.env.save_replay()

    def state_dict(self) -> dict[str, Any]:
        """Where the environment is; the next call is a reset.

        Raises:
            NotImplementedError: it cannot be saved.
        """
        state = state_or_none(self.env)
        if state is None:
            raise NotImplementedError(f"{type(self.env).__name__} cannot be saved")
        return {"env": state}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Let the environment go on from where `state_dict` was taken."""
        self.env.load_state_dict(state["env"])

    def close(self) -> None:
        self.env.close()
