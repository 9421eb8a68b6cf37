"""The contracts of sources of environments: many copies, in any process, that one call steps."""

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

import numpy as np

from envs.contract.fields import EnvSpec


class StepOutcome(NamedTuple):
    """How a step of B copies went.

    `values`: the outcome fields by path, such as "reward" float64 `[B]`. `terminated`, `truncated`: bool `[B]`, the
    episode has ended by itself, or was cut off, in which case learners bootstrap; never both.
    `lost`: bool `[B]`, the episode is void because its environment failed; the copy needs a reset, and its row of
    `values` has no meaning. Nor has the row of a copy whose episode had ended before. The next call may write into
    the same arrays.
    """

    values: Mapping[str, np.ndarray]
    terminated: np.ndarray
    truncated: np.ndarray
    lost: np.ndarray

    def without_cuts(self) -> "StepOutcome":
        """The same, with episodes that were cut off as terminated ones."""
        cut = self.truncated
        return self._replace(terminated=self.terminated | cut, truncated=np.zeros_like(cut))

    def fields(self, copied: bool) -> dict[str, np.ndarray]:
        """By the fields of a batch; `copied`: the environment may be called before they are read."""
        fields = {**self.values, "terminated": self.terminated, "truncated": self.truncated}
        return {key: value.copy() for key, value in fields.items()} if copied else fields


class Copies(Protocol):
    """B copies of one environment. Copy b plays as a single one with the same seed does, in any process."""

    spec: EnvSpec

    def reset(self, which: np.ndarray | None = None) -> None:
        """Start an episode in the copies `which` (bool `[B]`; None: all); the others stay as they are."""

    def step(self, actions: Mapping[str, np.ndarray]) -> StepOutcome:
        """Let agent i of copy b do `actions[path][b, i]`; a copy whose episode has ended stays as it is.

        Args:
            actions: by the paths of the action fields, `[B, n, *shape]`.
        """

    def observed(self) -> Mapping[str, np.ndarray]:
        """Observations, masks and records by path as they are now, `[B, ...]`.

        The next call may write into the same arrays.
        """

    def info(self, b: int) -> dict[str, Any]:
        """The info of copy b's last step, as `MultiAgentEnv.step` returns it."""

    def infos_at(self, rows: np.ndarray) -> list[dict[str, Any]]:
        """The infos of the copies `rows`, int64."""
        return [self.info(b) for b in rows.tolist()]

    def snapshot(self) -> dict[str, Any]:
        """Copy 0 as it is, see `MultiAgentEnv`; `scene` and `action_names` likewise."""

    def scene(self) -> dict[str, Any]:
        """See `MultiAgentEnv`."""

    def action_names(self) -> list[list[str]] | None:
        """See `MultiAgentEnv`."""


class VectorEnv(Protocol):
    """The copies that training plays on, and those of tests."""

    spec: EnvSpec
    # how often failed environments, or their processes, were re-created
    restarts: int

    def play(self, test_mode: bool) -> Copies:
        """The copies that tests play on, or those of training; both may be the same."""

    def save_replay(self) -> Any:
        """Save a replay of copy 0's last episode."""

    def state_dict(self) -> dict[str, Any]:
        """The state of all copies, of training and of tests, in plain values; it raises nothing."""

    def load_state_dict(self, state: dict[str, Any]) -> bool:
        """Resume from where `state_dict` was taken.

        Returns:
            whether all copies of training were restored; if not, each needs a reset.
        """

    def take_live(self, name: str, value: Any) -> None:
        """An argument of the environments has changed (trait `live`): for all copies, those of tests too, and those
        that are made later."""

    def close(self) -> None:
        """Free the copies' resources."""


class BatchedEnv(Protocol):
    """An environment that is itself made as B copies of n agents each (Skirmish), in PyMARL's terms.

    A registry entry names its class as the trait `batched`; it is made with `batch_size` and the `env_args`, of
    which `seed` is a list of B seeds, one for each copy, or None. It may also have the methods of `MultiAgentEnv` for
    replays, `infos_at(rows) -> list[dict]`, what `info` returns of the copies `rows`, int64, without a call for each of
    thousands, and `state_dict() -> dict` and `load_state_dict(state)` of all copies; then a resumed run continues
    exactly, also during episodes. One that declares `fields()` takes and returns the same as `Copies`; where it
    may lose an episode, its attribute `lost` says which the last step has lost, as in `StepOutcome`.

    A class with a parameter `threads` gets the number of threads that may step its copies (`env_threads`); what it does
    must not depend on it. Its class method `copies_per_thread(**env_args)` may say for how many copies one pays.

    `double_buffering=on` divides the copies between two such environments. If every array and list in the state has
    an entry for each copy along its first axis (dictionaries may contain dictionaries), and no copy draws from global
    generators, the class says `state_by_copy = True`: a run then resumes with or without it, else as it began.
    """

    def reset(self, which: np.ndarray | None = None) -> None:
        """Start an episode in the copies `which` (bool `[B]`; None: all)."""

    def step(self, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Let agent i of copy b do `actions[b, i]`; a copy whose episode has ended stays as it is.

        Returns:
            reward float64 `[B]`; bool `[B]`, ended for any reason; truncated bool `[B]`, ended because time was
            up. The next call may write into the same arrays.
        """

    def observed(self) -> dict[str, np.ndarray]:
        """`obs` `[B, n, obs_shape]`, `state` `[B, state_shape]`, `avail_actions` `[B, n, n_actions]` as they are now.

        The next call may write into the same arrays.
        """

    def info(self, b: int) -> dict[str, Any]:
        """The info of copy b's last step, as `MultiAgentEnv.step` returns it."""

    def get_env_info(self) -> dict[str, Any]:
        """See `MultiAgentEnv`."""

    def close(self) -> None:
        """Free the environment's resources."""
