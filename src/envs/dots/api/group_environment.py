"""`UnityEnvironment` with the methods of the first ML-Agents DOTS (commit 2ea58e4), over this trainer's sessions."""

from collections.abc import Sequence

import numpy as np

from envs.dots.api import unity_environment
from envs.dots.api.agent_groups import AgentGroupSpec, BatchedStepResult, group_spec_of
from envs.dots.overwritten import AUTO
from envs.dots.side_channels import SideChannel


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

    def set_actions(self, agent_group: str, action: np.ndarray) -> None:
        """The actions of all agents of `get_step_result`, in its order; those of agents that are done are of no effect.

        Raises:
            UnityActionException: no such group, or actions of another shape.
        """
        spec = self._spec(agent_group).action_spec
        group = self._open().groups[agent_group]
        given = spec.fitting(action, group.asking + group.ended, agent_group)
        self._actions[agent_group] = tuple(None if rows is None else rows[group.places[0]] for rows in given)
