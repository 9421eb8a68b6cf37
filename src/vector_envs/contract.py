"""The contract of a batched environment: many copies that one call steps."""

from typing import Any, Protocol

import numpy as np


class BatchedEnv(Protocol):
    """B copies of one environment, of n agents each. Copy b plays what a single one with the same seed does.

    A batched environment may also have `state_dict() -> dict` and `load_state_dict(state)` of all copies, as
    `MultiAgentEnv` has them; then a resumed run goes on exactly, also in the midst of episodes.
    A registry entry names its class as the trait `batched`; it is made with `batch_size` and the `env_args`, of
    which `seed` is a list of B seeds, one for each copy, or None.
    """

    n_agents: int
    episode_limit: int

    def reset(self, which: np.ndarray | None = None) -> None:
        """Begin an episode in the copies `which` (bool `[B]`; None: all)."""

    def step(self, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Let agent i of copy b do `actions[b, i]`; a copy whose episode has ended stays as it is.

        Returns:
            reward float64 `[B]`; terminated bool `[B]`, ended for whatever reason; truncated bool `[B]`, ended because
            time was up, so that learners bootstrap. The next call may write into the same arrays.
        """

    def observed(self) -> dict[str, np.ndarray]:
        """`obs` `[B, n, obs_shape]`, `state` `[B, state_shape]`, `avail_actions` `[B, n, n_actions]` as they are now.

        The next call may write into the same arrays.
        """

    def info(self, b: int) -> dict[str, Any]:
        """The info of copy b's last step, as `MultiAgentEnv.step` returns it."""

    def get_env_info(self) -> dict[str, Any]:
        """See `MultiAgentEnv`."""

    def snapshot(self) -> dict[str, Any]:
        """Copy 0 as it is, see `MultiAgentEnv`; `scene` and `action_names` likewise."""

    def scene(self) -> dict[str, Any]:
        """See `MultiAgentEnv`."""

    def action_names(self) -> list[list[str]] | None:
        """See `MultiAgentEnv`."""

    def save_replay(self) -> Any:
        """Save a replay of copy 0's last episode."""

    def close(self) -> None:
        """Free what the environment holds."""
