"""A group of an attached simulator: where its arrays lie, and its rows of the turn."""

import struct
from dataclasses import dataclass
from typing import Any

import numpy as np

from dots_simulator.groups import GroupLayout, GroupSpec
from envs.dots.faults import SimulatorFault

_INT = struct.Struct("<i")


@dataclass
class Rows:
    """Some agents of a group, in arrays that belong to whoever holds them.

    Args:
        obs: one array for each observation, float32 `[k, *shape]`.
        reward: float32 `[k]`, since the agent's last decision.
        agent_id: int32 `[k]`.
        mask: of agents that ask for a decision, bool `[k, sum of branches]`, true: not available; or None.
        interrupted: of agents that have ended, bool `[k]`: by a time limit, say.
    """

    obs: list[np.ndarray]
    reward: np.ndarray
    agent_id: np.ndarray
    mask: np.ndarray | None = None
    interrupted: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.reward)


class Group:
    """One group in the file that is mapped now.

    Args:
        layout: of its block.
        buffer: the file.
        begin: of the block in it.
    """

    def __init__(self, layout: GroupLayout, buffer: Any, begin: int):
        self.spec: GroupSpec = layout.spec
        self._old = layout.protocol == "0"
        self._views = views = layout.views(buffer, begin)
        self._numbers = len(self.spec.observations)
        self._buffer = buffer
        counts = [layout.arrays[name] for name in ("decisions/count", "ended/count") if name in layout.arrays]
        self._counts = [begin + one.offset for one in counts]
        self._floats, self._choices = views["actions/continuous"], views["actions/discrete"]
        # protocol 0: the rows of the decision block whose agents go on, and of those that have ended
        self._asking = self._over = None
        self.asking = self.ended = 0

    def take_turn(self) -> None:
        """Look at how many rows there are, after the simulator has passed the turn.

        Raises:
            SimulatorFault: more than the group may have, or an agent twice.
        """
        at, buffer = self._counts, self._buffer
        count = _INT.unpack_from(buffer, at[0])[0]
        ended = 0 if self._old else _INT.unpack_from(buffer, at[1])[0]
        if not (0 <= count <= self.spec.max_agents and 0 <= ended <= self.spec.max_agents):
            raise SimulatorFault(
                f"The simulator shows {count} agents that ask and {ended} that have ended in '{self.spec.name}', which "
                f"has at most {self.spec.max_agents}"
            )
        if self._old:
            done = self._views["decisions/done"][:count] != 0
            self._asking, self._over = np.flatnonzero(~done), np.flatnonzero(done)
            count, ended = len(self._asking), len(self._over)
        self.asking, self.ended = count, ended

    def decisions(self, by_branch: bool = False) -> Rows:
        """The agents that ask, copied.

        Args:
            by_branch: masks were written a block for each branch, and not agent by agent as Unity does.
        """
        mask = None
        if not self._old and self.spec.branches:
            masks = self._views["decisions/mask"]
            mask = (_agent_by_agent(masks, self.spec.branches) if by_branch else masks)[: self.asking] != 0
        return Rows(*self._common("decisions", self._asking, self.asking), mask=mask)

    def endings(self) -> Rows:
        """The agents that have ended, copied."""
        block, status = ("decisions", "decisions/max_step") if self._old else ("ended", "ended/status")
        interrupted = self._of(self._views[status], self._over, self.ended) != 0
        return Rows(*self._common(block, self._over, self.ended), interrupted=interrupted)

    def act(self, continuous: np.ndarray | None, discrete: np.ndarray | None) -> None:
        """Write the actions of the agents that ask, in the order of `decisions`; None: zeros."""
        for view, actions in ((self._floats, continuous), (self._choices, discrete)):
            if not view.shape[1]:
                continue
            rows = slice(0, self.asking) if self._asking is None else self._asking
            view[rows] = 0 if actions is None else actions

    def _common(self, block: str, rows: np.ndarray | None, count: int) -> tuple[list[np.ndarray], Any, Any]:
        views = self._views
        obs = [self._of(views[f"{block}/obs/{i}"], rows, count) for i in range(self._numbers)]
        return obs, self._of(views[f"{block}/reward"], rows, count), self._of(views[f"{block}/agent_id"], rows, count)

    def _of(self, view: np.ndarray, rows: np.ndarray | None, count: int) -> np.ndarray:
        return view[:count].copy() if rows is None else view[rows]


def _agent_by_agent(masks: np.ndarray, branches: tuple[int, ...]) -> np.ndarray:
    flat, ends = masks.reshape(-1), np.cumsum(branches) * len(masks)
    return np.concatenate([part.reshape(len(masks), -1) for part in np.split(flat, ends[:-1])], axis=1)
