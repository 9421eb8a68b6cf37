"""`UnityEnvironment` with the methods of the first ML-Agents DOTS (2ea58e4): groups of agents, some of them done."""

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from dots_simulator.groups import GroupSpec
from envs.dots.api import unity_environment
from envs.dots.api.specs import ActionType, OneKind
from envs.dots.group import Group
from envs.dots.overwritten import AUTO
from envs.dots.side_channels import SideChannel


class StepResult(NamedTuple):
    """Of one agent. `done`: it has ended; `max_step`: by a time limit; `action_mask`: None in protocol 0."""

    obs: list[np.ndarray]
    reward: float
    done: bool
    max_step: bool
    agent_id: int
    action_mask: list[np.ndarray] | None


class _GroupFields(NamedTuple):
    observation_shapes: list[tuple[int, ...]]
    action_type: ActionType
    action_shape: int | tuple[int, ...]


class AgentGroupSpec(OneKind, _GroupFields):
    """What a group's agents see and do; `action_shape`: the choices of each branch, or the number of floats."""


class BatchedStepResult:
    """Of the agents of a group that are shown: those that ask for a decision, and those that have ended.

    Args:
        obs: for each observation float32 `[n, *shape]`.
        reward: float32 `[n]`, since the last decision.
        done: bool `[n]`.
        max_step: bool `[n]`, of those that are done: by a time limit.
        agent_id: int32 `[n]`.
        action_mask: for each branch bool `[n, choices]`, true: not available; or None.
    """

    def __init__(
        self,
        obs: list[np.ndarray],
        reward: np.ndarray,
        done: np.ndarray,
        max_step: np.ndarray,
        agent_id: np.ndarray,
        action_mask: list[np.ndarray] | None,
    ):
        self.obs, self.reward, self.done = obs, reward, done
        self.max_step, self.agent_id, self.action_mask = max_step, agent_id, action_mask

    @cached_property
    def agent_id_to_index(self) -> dict[int, int]:
        return {int(one): row for row, one in enumerate(self.agent_id)}

    def n_agents(self) -> int:
        return len(self.agent_id)

    def contains_agent(self, agent_id: int) -> bool:
        return agent_id in self.agent_id_to_index

    def get_agent_step_result(self, agent_id: int) -> StepResult:
        """
        Raises:
            IndexError: the agent is not among these.
        """
        if agent_id not in self.agent_id_to_index:
            raise IndexError(f"agent {agent_id} is not among these {self.n_agents()} agents")
        row = self.agent_id_to_index[agent_id]
        mask = None if self.action_mask is None else [one[row] for one in self.action_mask]
        reward, done, limit = float(self.reward[row]), bool(self.done[row]), bool(self.max_step[row])
        return StepResult([one[row] for one in self.obs], reward, done, limit, agent_id, mask)

    @staticmethod
    def empty(spec: AgentGroupSpec) -> "BatchedStepResult":
        obs = [np.zeros((0, *shape), np.float32) for shape in spec.observation_shapes]
        nobody = np.zeros(0, bool)
        return BatchedStepResult(obs, np.zeros(0, np.float32), nobody, nobody.copy(), np.zeros(0, np.int32), None)

    @staticmethod
    def of(group: Group) -> "BatchedStepResult":
        asking, ended = group.decisions(), group.endings()
        order = np.argsort(np.concatenate(group.places))
        parts = [*zip(asking.obs, ended.obs, strict=True), (asking.reward, ended.reward)]
        parts += [(np.zeros(len(asking), bool), np.ones(len(ended), bool))]
        parts += [(np.zeros(len(asking), bool), ended.interrupted), (asking.agent_id, ended.agent_id)]
        *obs, reward, done, limit, agent_id = (np.concatenate(both)[order] for both in parts)
        return BatchedStepResult(obs, reward, done, limit, agent_id, None)


def group_spec_of(spec: GroupSpec) -> AgentGroupSpec:
    kind = ActionType.DISCRETE if spec.branches else ActionType.CONTINUOUS
    return AgentGroupSpec([one.shape for one in spec.observations], kind, spec.branches or spec.continuous)


class UnityEnvironment(unity_environment.UnityEnvironment):
    """A simulator of protocol 0, started here; or without a file, an editor that attaches.

    Args:
        executable_name: its file; a .py file is run by this Python.
        args: for the executable.
        side_channels: which also see the messages of the first turn.
        ids: see `unity_environment.UnityEnvironment`.

    Raises:
        UnityCommunicationException: it cannot be started.
    """

    def __init__(
        self,
        executable_name: str | None = None,
        args: Sequence[str] | None = None,
        side_channels: Sequence[SideChannel] | None = None,
        *,
        ids: str = AUTO,
    ):
        super().__init__(executable_name, side_channels, args, protocol="0", ids=ids)

    def get_agent_groups(self) -> list[str]:
        """The groups known so far; none before the first reset."""
        return list(self._specs)

    def get_agent_group_spec(self, agent_group: str) -> AgentGroupSpec:
        self._spec(agent_group)
        return group_spec_of(self._open().groups[agent_group].spec)

    def get_step_result(self, agent_group: str) -> BatchedStepResult:
        """The agents that are shown, in arrays of the caller's own."""
        self._spec(agent_group)
        return BatchedStepResult.of(self._open().groups[agent_group])

    def set_actions(self, agent_group: str, action: np.ndarray) -> None:  # type: ignore[override]
        """The actions of all agents of `get_step_result`, in its order; those of agents that are done are of no effect.
        Raises UnityActionException: no such group, or actions of another shape."""
        spec = self._spec(agent_group).action_spec
        group = self._open().groups[agent_group]
        given = spec.fitting(action, group.asking + group.ended, agent_group)
        floats, choices = (None if rows is None else rows[group.places[0]] for rows in given)
        self._actions[agent_group] = floats, choices
