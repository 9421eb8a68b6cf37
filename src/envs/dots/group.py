"""A group of an attached simulator: where its arrays lie, and its rows of the turn."""

import struct
from dataclasses import dataclass
from typing import Any

import numpy as np

from dots_simulator.groups import GroupLayout, GroupSpec
from envs.dots.faults import SimulatorFault
from envs.dots.shared_file import SharedFile

_INT = struct.Struct("<i")
# bytes of a group that are read in one piece, also where not all agents ask
AT_ONCE = 2**15
COUNTS = ("decisions/count", "ended/count")


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
    """One group in the file that is shared now.

    Args:
        layout: of its block.
        file: with it.
        begin: of the block in it.
    """

    def __init__(self, layout: GroupLayout, file: SharedFile, begin: int):
        self.spec: GroupSpec = layout.spec
        self._file, self._old = file, layout.protocol == "0"
        # by name: offset in the file, dtype, shape of one agent's entry
        self._arrays = {
            name: (begin + array.offset, np.dtype(array.dtype), array.shape[1:])
            for name, array in layout.arrays.items()
        }
        # all that changes with a turn, from the first count to the actions, if it is not much
        ends = [begin + layout.arrays[name].offset for name in ("decisions/count", "actions/continuous")]
        self._begin, self.end = ends
        self._at_once = self.end - self._begin <= AT_ONCE
        # bytes of this turn, and where in the file they begin
        self._block: np.ndarray | None = None
        self._from = self._begin
        self._observations = range(len(self.spec.observations))
        self._counts = [self._arrays[name][0] for name in COUNTS if name in self._arrays]
        # protocol 0: the rows of the decision block whose agents continue, and of those that have ended
        self._asking = self._over = None
        self.asking = self.ended = 0

    def take_turn(self, turn: np.ndarray | None = None) -> None:
        """Look at how many rows there are, after the simulator has passed the turn.

        Args:
            turn: what was read of the file, uint8 from its begin to the last group's `end` at least; or None.

        Raises:
            SimulatorFault: more than the group may have.
        """
        if self._at_once:
            if turn is None:
                turn, self._from = self._file.fill(np.empty(self.end - self._begin, np.uint8), self._begin), self._begin
            else:
                self._from = 0
            self._block = turn
            count, ended = ([_INT.unpack_from(turn, at - self._from)[0] for at in self._counts] + [0])[:2]
        else:
            count, ended = ([_INT.unpack(self._file[at : at + 4])[0] for at in self._counts] + [0])[:2]
        if not (0 <= count <= self.spec.max_agents and 0 <= ended <= self.spec.max_agents):
            raise SimulatorFault(
                f"The simulator shows {count} agents that ask and {ended} that have ended in '{self.spec.name}', which "
                f"has at most {self.spec.max_agents}"
            )
        if self._old:
            self._shown = count
            done = self._read("decisions/done", count) != 0
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
            if by_branch:
                mask = _agent_by_agent(self._read("decisions/mask", self.spec.max_agents), self.spec.branches)
                mask = mask[: self.asking] != 0
            else:
                mask = self._read("decisions/mask", self.asking) != 0
        return Rows(*self._common("decisions", self._asking, self.asking), mask=mask)

    def endings(self) -> Rows:
        """The agents that have ended, copied."""
        block, status = ("decisions", "decisions/max_step") if self._old else ("ended", "ended/status")
        interrupted = self._of(status, self._over, self.ended) != 0
        return Rows(*self._common(block, self._over, self.ended), interrupted=interrupted)

    def act(self, continuous: np.ndarray | None, discrete: np.ndarray | None) -> None:
        """Write the actions of the agents that ask, in the order of `decisions`; None: zeros."""
        for name, actions in (("actions/continuous", continuous), ("actions/discrete", discrete)):
            offset, dtype, (size,) = self._arrays[name]
            if not size:
                continue
            if self._asking is None and actions is not None:
                rows = np.ascontiguousarray(actions, dtype).reshape(self.asking, size)
            else:
                rows = np.zeros((self.asking if self._asking is None else self._shown, size), dtype)
                if actions is not None:
                    rows[self._asking] = actions
            self._file.write(offset, rows)

    def _common(self, block: str, rows: np.ndarray | None, count: int) -> tuple[list[np.ndarray], Any, Any]:
        obs = [self._of(f"{block}/obs/{i}", rows, count) for i in self._observations]
        return obs, self._of(f"{block}/reward", rows, count), self._of(f"{block}/agent_id", rows, count)

    def _of(self, name: str, rows: np.ndarray | None, count: int) -> np.ndarray:
        """Of protocol 0, some of the rows that are shown."""
        return self._read(name, count) if rows is None else self._read(name, self._shown)[rows]

    def _read(self, name: str, count: int) -> np.ndarray:
        offset, dtype, shape = self._arrays[name]
        if self._at_once:
            # memory of this turn's own; behind masks, which are bytes, numbers are not aligned
            found = np.ndarray((count, *shape), dtype, self._block, offset - self._from)
            return found if found.flags.aligned else found.copy()
        return self._file.fill(np.empty((count, *shape), dtype), offset)


def _agent_by_agent(masks: np.ndarray, branches: tuple[int, ...]) -> np.ndarray:
    flat, ends = masks.reshape(-1), np.cumsum(branches) * len(masks)
    return np.concatenate([part.reshape(len(masks), -1) for part in np.split(flat, ends[:-1])], axis=1)
