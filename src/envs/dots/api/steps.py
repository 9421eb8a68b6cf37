"""What agents have seen and earned."""

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import NamedTuple

import numpy as np

from envs.dots.api.specs import BehaviorSpec
from envs.dots.group import Decisions, Endings


class DecisionStep(NamedTuple):
    """Of one agent that asks for a decision; `action_mask`: for each branch bool `[choices]`, true: not available."""

    obs: list[np.ndarray]
    reward: float
    agent_id: int
    action_mask: list[np.ndarray] | None
    group_id: int
    group_reward: float


class TerminalStep(NamedTuple):
    """Of one agent that has ended; `interrupted`: by a time limit, say."""

    obs: list[np.ndarray]
    reward: float
    interrupted: bool
    agent_id: int
    group_id: int
    group_reward: float


class _Steps(Mapping):
    """Steps of n agents, by their ids: arrays with a row for each, which belong to whoever holds them."""

    def __init__(
        self,
        obs: list[np.ndarray],
        reward: np.ndarray,
        agent_id: np.ndarray,
        group_id: np.ndarray | None,
        group_reward: np.ndarray | None,
    ):
        self.obs, self.reward, self.agent_id = obs, reward, agent_id
        # DOTS has neither
        self.group_id = np.zeros(len(agent_id), dtype=np.int32) if group_id is None else group_id
        self.group_reward = np.zeros(len(agent_id), dtype=np.float32) if group_reward is None else group_reward

    @cached_property
    def agent_id_to_index(self) -> dict[int, int]:
        return {int(one): row for row, one in enumerate(self.agent_id)}

    def __len__(self) -> int:
        return len(self.agent_id)

    def __iter__(self) -> Iterator[int]:
        return iter(self.agent_id)

    def __contains__(self, agent_id: object) -> bool:
        return agent_id in self.agent_id_to_index

    def _row(self, agent_id: int) -> int:
        if agent_id not in self.agent_id_to_index:
            raise KeyError(f"agent {agent_id} is not among these {len(self)} steps")
        return self.agent_id_to_index[agent_id]


class DecisionSteps(_Steps):
    """Of the agents that ask for a decision.

    Args:
        obs: for each observation float32 `[n, *shape]`.
        reward: float32 `[n]`, since the last decision.
        agent_id: int32 `[n]`.
        action_mask: for each branch bool `[n, choices]`, true: not available; None without branches.
    """

    def __init__(
        self,
        obs: list[np.ndarray],
        reward: np.ndarray,
        agent_id: np.ndarray,
        action_mask: list[np.ndarray] | None,
        group_id: np.ndarray | None = None,
        group_reward: np.ndarray | None = None,
    ):
        super().__init__(obs, reward, agent_id, group_id, group_reward)
        self.action_mask = action_mask

    def __getitem__(self, agent_id: int) -> DecisionStep:
        row = self._row(agent_id)
        masks = None if self.action_mask is None else [mask[row] for mask in self.action_mask]
        return DecisionStep([x[row] for x in self.obs], float(self.reward[row]), int(agent_id), masks, 0, 0.0)

    @staticmethod
    def empty(spec: BehaviorSpec) -> "DecisionSteps":
        """Of nobody."""
        return DecisionSteps(_no_obs(spec), np.zeros(0, np.float32), np.zeros(0, np.int32), None)

    @staticmethod
    def of(rows: Decisions, spec: BehaviorSpec) -> "DecisionSteps":
        """From a group's rows."""
        masks = None
        if rows.mask is not None:
            masks = np.split(rows.mask, np.cumsum(spec.action_spec.discrete_branches)[:-1], axis=1)
        return DecisionSteps(rows.obs, rows.reward, rows.agent_id, masks)


class TerminalSteps(_Steps):
    """Of the agents that have ended.

    Args:
        obs, reward, agent_id: as those of `DecisionSteps`.
        interrupted: bool `[n]`.
    """

    def __init__(
        self,
        obs: list[np.ndarray],
        reward: np.ndarray,
        interrupted: np.ndarray,
        agent_id: np.ndarray,
        group_id: np.ndarray | None = None,
        group_reward: np.ndarray | None = None,
    ):
        super().__init__(obs, reward, agent_id, group_id, group_reward)
        self.interrupted = interrupted

    def __getitem__(self, agent_id: int) -> TerminalStep:
        row = self._row(agent_id)
        ended = bool(self.interrupted[row])
        return TerminalStep([x[row] for x in self.obs], float(self.reward[row]), ended, int(agent_id), 0, 0.0)

    @staticmethod
    def empty(spec: BehaviorSpec) -> "TerminalSteps":
        """Of nobody."""
        return TerminalSteps(_no_obs(spec), np.zeros(0, np.float32), np.zeros(0, bool), np.zeros(0, np.int32))

    @staticmethod
    def of(rows: Endings) -> "TerminalSteps":
        """From a group's rows."""
        return TerminalSteps(rows.obs, rows.reward, rows.interrupted, rows.agent_id)


def _no_obs(spec: BehaviorSpec) -> list[np.ndarray]:
    return [np.zeros((0, *one.shape), np.float32) for one in spec.observation_specs]
