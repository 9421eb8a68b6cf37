"""A group of an attached simulator: where its arrays lie, and its rows of the turn."""

from dataclasses import dataclass

import numpy as np

from dots_simulator.groups import GroupLayout, GroupSpec
from envs.dots.block import Block, Piece
from envs.dots.faults import SimulatorFault
from envs.dots.overwritten import Overwritten
from envs.dots.shared_file import SharedFile

# bytes of agents that ask, up to which those of a group are read as a whole
AT_ONCE = 2**16
# most turns end nobody, so no more than this is read of ended agents before it is known that there are some
AT_ONCE_OF_ENDED = 2**12


@dataclass(slots=True)
class Rows:
    """Some agents of a group, in arrays that belong to whoever holds them, unless they were asked for without a copy.

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
        self._most = layout.spec.max_agents
        self._file, self._old = file, layout.protocol == "0"
        # protocol 0: the rows of the decision block whose agents continue, and of those that have ended
        self._asking = self._over = None
        # of protocol 0 with branches: what its session knows
        self.overwritten: Overwritten | None = None
        self.asking = self.ended = 0
        self._lay(layout, begin)

    def _lay(self, layout: GroupLayout, begin: int) -> None:
        """Make what reads and writes the arrays."""
        file = self._file
        self._decisions = Block(file, layout, begin, "decisions", AT_ONCE)
        # in protocol 0, agents that have ended are among those that ask
        self._ended = self._decisions if self._old else Block(file, layout, begin, "ended", AT_ONCE_OF_ENDED)
        # kinds of actions that there are: which, offset in the file, dtype, of one agent
        self._takes = [
            (which, begin + array.offset, np.dtype(array.dtype), array.shape[1])
            for which, array in enumerate(layout.arrays.get(f"actions/{kind}") for kind in ("continuous", "discrete"))
            if array is not None and array.shape[1]
        ]

    @property
    def pieces(self) -> list[Piece]:
        """Of the file, that have to be read before `take_turn`."""
        return [self._decisions.piece] if self._old else [self._decisions.piece, self._ended.piece]

    @property
    def places(self) -> tuple[np.ndarray, np.ndarray]:
        """The places of those that ask, and of those that have ended, among all rows of the turn."""
        if self._old:
            return self._asking, self._over
        return np.arange(self.asking), np.arange(self.asking, self.asking + self.ended)

    def take_turn(self) -> None:
        """Look at how many rows there are, after the simulator has passed the turn and `pieces` were read.

        Raises:
            SimulatorFault: more than the group may have.
        """
        most, count, ended = self._most, self._decisions.count[0], 0 if self._old else self._ended.count[0]
        if not (0 <= count <= most and 0 <= ended <= most):
            raise SimulatorFault(
                f"The simulator shows {count} agents that ask and {ended} that have ended in '{self.spec.name}', which "
                f"has at most {most}"
            )
        if self._old:
            self._shown = count
            done = self._decisions.rows("done", count, copy=False) != 0
            self._asking, self._over = np.flatnonzero(~done), np.flatnonzero(done)
            if self.overwritten is not None and not self.overwritten.decided_against:
                self._look_for_masks(count)
            count, ended = len(self._asking), len(self._over)
        self.asking, self.ended = count, ended

    def decisions(self, by_branch: bool = False, copy: bool = True) -> Rows:
        """The agents that ask.

        Args:
            by_branch: masks were written a block for each branch, and not agent by agent as Unity does.
            copy: False: what the rows hold may change with the next turn.
        """
        mask = None
        if not self._old and self.spec.branches:
            if by_branch:
                mask = self._decisions.rows("mask", self.spec.max_agents, copy=False)
                mask = _agent_by_agent(mask, self.spec.branches)[: self.asking] != 0
            else:
                mask = self._decisions.rows("mask", self.asking, copy=False) != 0
        found = self._picked(self._asking) if self._old else self._decisions.common(self.asking, copy)
        *obs, reward, agent_id = found
        return Rows(obs, reward, agent_id, mask)

    def endings(self, copy: bool = True) -> Rows:
        """The agents that have ended; without `copy` as of `decisions`."""
        if self._old:
            interrupted = self._ended.rows("max_step", self._shown, copy=False)[self._over] != 0
            if self.overwritten is not None and self.overwritten.hides_limits:
                interrupted[:] = False
            found = self._picked(self._over)
        else:
            interrupted = self._ended.rows("status", self.ended, copy=False) != 0
            found = self._ended.common(self.ended, copy)
        return Rows(found[:-2], found[-2], found[-1], None, interrupted)

    def act(self, continuous: np.ndarray | None, discrete: np.ndarray | None) -> None:
        """Write the actions of the agents that ask, in the order of `decisions`; None: zeros."""
        for which, offset, dtype, size in self._takes:
            actions = discrete if which else continuous
            if self._asking is None and actions is not None:
                rows = np.ascontiguousarray(actions, dtype)
                if rows.shape != (self.asking, size):
                    rows = rows.reshape(self.asking, size)
            else:
                rows = np.zeros((self.asking if self._asking is None else self._shown, size), dtype)
                if actions is not None:
                    rows[self._asking] = actions
            self._file.write(offset, rows)

    def _picked(self, rows: np.ndarray) -> list[np.ndarray]:
        """Of protocol 0, some of the rows that are shown."""
        found = [array[rows] for array in self._decisions.common(self._shown, copy=False)]
        if self.overwritten is not None and self.overwritten.hides_ids(self.spec.name):
            found[-1] = rows.astype(np.int32)
        return found

    def _look_for_masks(self, count: int) -> None:
        """Masks may lie over other fields; see `Overwritten`."""
        masks = self._decisions.bytes_from("max_step", count * sum(self.spec.branches))
        names = ("done", "max_step", "agent_id")
        self.overwritten.look(self.spec, masks, {name: self._decisions.rows(name, count, copy=False) for name in names})


def _agent_by_agent(masks: np.ndarray, branches: tuple[int, ...]) -> np.ndarray:
    flat, ends = masks.reshape(-1), np.cumsum(branches) * len(masks)
    return np.concatenate([part.reshape(len(masks), -1) for part in np.split(flat, ends[:-1])], axis=1)
