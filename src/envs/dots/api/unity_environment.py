"""`UnityEnvironment`, with the methods of mlagents_envs and mlagents_dots_envs, over this trainer's sessions."""

import logging
import weakref
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np

from envs.dots.api.exceptions import (
    UnityActionException,
    UnityCommunicationException,
    UnityEnvironmentException,
    UnityTimeOutException,
)
from envs.dots.api.specs import ActionTuple, BehaviorMapping, BehaviorSpec, behaviour_of
from envs.dots.api.steps import DecisionSteps, TerminalSteps
from envs.dots.connecting import AUTO, Wanted, connect
from envs.dots.faults import SimulatorFault
from envs.dots.overwritten import AUTO as FOUND_OUT
from envs.dots.session import Session
from envs.dots.side_channels import SideChannel, SideChannelManager

log = logging.getLogger("muster")
AgentId = int
GroupId = int
BehaviorName = str
AgentGroup = str


class BaseEnv(ABC):
    """An environment of ML-Agents, of any version."""

    @abstractmethod
    def step(self) -> None:
        """Let agents act as was set, up to the next decisions."""

    @abstractmethod
    def reset(self) -> None:
        """Let all agents begin new episodes."""

    @abstractmethod
    def close(self) -> None:
        """End the simulator."""


class UnityEnvironment(BaseEnv):
    """A simulator, started here; or without a file, an editor that attaches.

    Args:
        file_name: of the executable; a .py file is run by this Python.
        side_channels: which also see the messages of the first turn.
        additional_args: for the executable.
        timeout_wait: seconds for an answer, and for attaching.
        no_graphics: adds the arguments that let a Unity build run without a window.
        protocol: "0", "0.3.2" or "auto".
        masks_by_branch: the simulator writes masks of several branches a block for each, not agent by agent.
        wake: whether to offer turns passed by wake-ups.
        ids: what agents are told apart by in protocol 0 with discrete actions: "agents", "rows", or "auto", found out.
        seed, worker_id, base_port, log_folder: accepted for those who pass them, and of no effect, as in DOTS.

    Raises:
        UnityCommunicationException: it cannot be started, does not attach, or speaks another version.
    """

    def __init__(
        self,
        file_name: str | None = None,
        side_channels: Sequence[SideChannel] | None = None,
        additional_args: Sequence[str] | None = None,
        timeout_wait: float = 60,
        worker_id: int | None = None,
        seed: int | None = None,
        no_graphics: bool | None = None,
        base_port: int | None = None,
        log_folder: str | None = None,
        *,
        protocol: str = AUTO,
        masks_by_branch: bool = False,
        wake: bool = True,
        ids: str = FOUND_OUT,
    ):
        args = list(additional_args or ())
        if file_name is None and args:
            raise UnityEnvironmentException("additional_args are for an executable; an editor has none")
        if no_graphics and file_name is not None:
            args += ["-nographics", "-batchmode"]
        self._channels = SideChannelManager(side_channels)
        self._by_branch = masks_by_branch
        self._specs = BehaviorMapping({})
        self._generation = 0
        self._actions: dict[str, tuple[np.ndarray | None, np.ndarray | None]] = {}
        wanted = Wanted(file_name, args, protocol, None, timeout_wait, timeout_wait, wake, ids)
        self._lost: set[str] = set()
        self._session: Session | None = None
        self._session = self._reported(lambda: connect(wanted))
        # also when nobody holds it any more, and at the interpreter's end
        self._ending = weakref.finalize(self, self._session.close)
        self._has_reset = False

    @property
    def behavior_specs(self) -> BehaviorMapping:
        """The behaviours known so far; none before the first reset."""
        return self._specs

    def get_behavior_names(self) -> list[str]:
        """`behavior_specs`, as mlagents_envs 0.16 had it."""
        return list(self._specs)

    def get_behavior_spec(self, behavior_name: str) -> BehaviorSpec:
        """`behavior_specs`, as mlagents_envs 0.16 had it."""
        return self._spec(behavior_name)

    def reset(self) -> None:
        """Let all agents begin new episodes, up to their first decisions."""
        self._exchange(reset=True)
        self._has_reset = True

    def step(self) -> None:
        """Let agents act as was set, up to the next decisions; actions that were not set are zeros."""
        if not self._has_reset:
            self.reset()
            return
        self._exchange()

    def query(self) -> None:
        """Exchange side channels only."""
        self._exchange(query=True)

    def get_steps(self, behavior_name: str) -> tuple[DecisionSteps, TerminalSteps]:
        """The agents that ask, and those that have ended, in arrays of the caller's own."""
        spec = self._spec(behavior_name)
        group = self._open().groups[behavior_name]
        return DecisionSteps.of(group.decisions(self._by_branch), spec), TerminalSteps.of(group.endings())

    def set_actions(self, behavior_name: str, action: ActionTuple | np.ndarray) -> None:
        """The actions of all agents that ask, in the order of `get_steps`; of nobody, an empty one.

        An array `[agents, size]` will do where actions are of one kind.

        Raises:
            UnityActionException: no such behaviour, or actions of another shape.
        """
        spec = self._spec(behavior_name)
        asking = self._open().groups[behavior_name].asking
        self._actions[behavior_name] = spec.action_spec.fitting(action, asking, behavior_name)

    def set_action_for_agent(self, behavior_name: str, agent_id: int, action: ActionTuple | np.ndarray) -> None:
        """The action of one agent that asks. Raises UnityActionException: no such behaviour or agent, or an action of
        another shape."""
        spec = self._spec(behavior_name).action_spec
        group = self._open().groups[behavior_name]
        rows = np.flatnonzero(group.decisions().agent_id == agent_id)
        if not len(rows):
            raise UnityActionException(f"agent {agent_id} of the behavior {behavior_name} asks for no decision")
        given = spec.fitting(action, 1, behavior_name)
        before = self._actions.get(behavior_name, (None, None))
        all_of = spec.empty_action(group.asking)
        for mine, old, new in zip((all_of.continuous, all_of.discrete), before, given, strict=True):
            if mine is not None and old is not None:
                mine[...] = old
            if mine is not None and new is not None:
                mine[rows[0]] = new[0]
        self._actions[behavior_name] = all_of.continuous, all_of.discrete

    def close(self) -> None:
        """End the simulator; may be called twice."""
        session, self._session = self._session, None
        if session is not None:
            session.close()

    def __enter__(self) -> "UnityEnvironment":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def _exchange(self, reset: bool = False, query: bool = False) -> None:
        session = self._open()
        if not query:
            for name, group in session.groups.items():
                group.act(*self._actions.pop(name, (None, None)))
            self._actions.clear()
        messages = self._channels.generate_side_channel_messages()
        payload = self._reported(lambda: session.exchange(messages, reset, query))
        if session.lost and session.lost not in self._lost:
            self._lost.add(session.lost)
            log.warning(session.lost)
        if session.generation != self._generation:
            self._generation = session.generation
            self._specs = BehaviorMapping({name: behaviour_of(group.spec) for name, group in session.groups.items()})
        if payload:
            self._channels.process_side_channel_message(payload)

    def _reported(self, do: Any) -> Any:
        """What it returns; a fault closes the environment, and is one of the package's exceptions."""
        try:
            return do()
        except SimulatorFault as error:
            self.close()
            kind = UnityTimeOutException if " hangs " in str(error) else UnityCommunicationException
            raise kind(str(error)) from None

    def _open(self) -> Session:
        if self._session is None:
            raise UnityEnvironmentException("The environment is closed.")
        return self._session

    def _spec(self, name: str) -> BehaviorSpec:
        if name not in self._specs:
            known = ", ".join(self._specs) or "none, before reset()"
            raise UnityActionException(f"There is no behavior {name}; there is {known}.")
        return self._specs[name]
