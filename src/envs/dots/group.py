"""A group of an attached simulator: its arrays in the file that is shared, and its rows of the turn."""

from dataclasses import dataclass

import numpy as np

from dots_simulator.groups import GroupLayout
from dots_simulator.rows import Cuts
from envs.dots.faults import SimulatorFault
from envs.dots.overwritten import Overwritten
from envs.dots.shared_file import SharedFile

BLOCKS = ("decisions", "ended")
ACTIONS = ("actions/continuous", "actions/discrete")


@dataclass(slots=True)
class Rows:
    """Some agents of a group, in arrays that belong to whoever holds them.

    Args:
        obs: one array for each observation, float32 `[k, *shape]`.
        reward: float32 `[k]`, since the agent's last decision.
        agent_id: int32 `[k]`.
    """

    obs: list[np.ndarray]
    reward: np.ndarray
    agent_id: np.ndarray

    def __len__(self) -> int:
        return len(self.reward)


@dataclass(slots=True)
class Decisions(Rows):
    """Agents that ask. `mask`: bool `[k, sum of branches]`, true: not available; or None."""

    mask: np.ndarray | None = None


@dataclass(slots=True)
class Endings(Rows):
    """Agents that have ended. `interrupted`: bool `[k]`, by a time limit, say."""

    interrupted: np.ndarray


class Group:
    """One group in the file that is shared now, in protocol 0.3.2.

    What the simulator shows may change while it is looked at, if it writes out of its turn: so counts are read once,
    and rows are copied.
    """

    def __init__(self, layout: GroupLayout, file: SharedFile, begin: int):
        self.spec = layout.spec
        self._file = file
        self._places = {name: begin + array.offset for name, array in layout.arrays.items()}
        self._views = layout.views(file.memory, begin)
        common = [*(f"obs/{i}" for i in range(len(self.spec.observations))), "reward", "agent_id"]
        blocks = [block for block in BLOCKS if f"{block}/count" in self._places]
        self._counts = {block: file.number(self._places[f"{block}/count"]) for block in blocks}
        # the arrays that rows of all kinds have
        self._common = {block: [f"{block}/{name}" for name in common] for block in blocks}
        self._first = {block: Cuts([self._views[name] for name in names]) for block, names in self._common.items()}
        self._actions = Cuts([self._views[name] for name in ACTIONS])
        self.asking = self.ended = 0

    @property
    def places(self) -> tuple[np.ndarray, np.ndarray]:
        return np.arange(self.asking), np.arange(self.asking, self.asking + self.ended)

    def take_turn(self) -> None:
        """Look at how many rows there are, after the simulator has passed the turn."""
        self.asking, self.ended = asking, ended = self._count("decisions"), self._count("ended")
        most = self.spec.max_agents
        if not (0 <= asking <= most and 0 <= ended <= most):
            raise self._impossible(asking, ended)

    def decisions(self, by_branch: bool = False) -> Decisions:
        """The agents that ask; `by_branch`: masks were written a block for each branch, not agent by agent."""
        mask = None
        if self.spec.branches and by_branch:
            mask = _agent_by_agent(self._rows("decisions/mask", self.spec.max_agents), self.spec.branches)
            mask = mask[: self.asking] != 0
        elif self.spec.branches:
            mask = self._rows("decisions/mask", self.asking) != 0
        *obs, reward, agent_id = self._copied("decisions", self.asking)
        return Decisions(obs, reward, agent_id, mask)

    def endings(self) -> Endings:
        *obs, reward, agent_id = self._copied("ended", self.ended)
        return Endings(obs, reward, agent_id, self._rows("ended/status", self.ended) != 0)

    def act(self, continuous: np.ndarray | None, discrete: np.ndarray | None) -> None:
        """Write the actions of the agents that ask, in the order of `decisions`; None: zeros."""
        floats, choices = self._actions.first(self.asking)
        if self.spec.continuous:
            self._fill("actions/continuous", floats, continuous)
        if self.spec.branches:
            self._fill("actions/discrete", choices, discrete)

    def _fill(self, name: str, rows: np.ndarray, actions: np.ndarray | None) -> None:
        if actions is None:
            rows[...] = 0
        else:
            rows[...] = actions if actions.shape == rows.shape else np.reshape(actions, rows.shape)
        if not self._file.is_mapped:
            self._file.store(self._places[name], rows.nbytes)

    def _count(self, block: str) -> int:
        if self._file.in_parts:
            self._file.load(self._places[f"{block}/count"], 4)
        return self._counts[block][0]

    def _rows(self, name: str, count: int) -> np.ndarray:
        rows = self._views[name][:count]
        if self._file.in_parts:
            self._file.load(self._places[name], rows.nbytes)
        return rows

    def _copied(self, block: str, count: int) -> list[np.ndarray]:
        """The first rows of the observations, of the rewards and of the ids."""
        rows = self._first[block].first(count)
        if self._file.in_parts:
            for name, one in zip(self._common[block], rows, strict=True):
                self._file.load(self._places[name], one.nbytes)
        return [one.copy() for one in rows]

    def _impossible(self, asking: int, ended: int) -> SimulatorFault:
        return SimulatorFault(
            f"The simulator shows {asking} agents that ask and {ended} that have ended in '{self.spec.name}', which "
            f"has at most {self.spec.max_agents}"
        )


class Group0(Group):
    """A group in protocol 0: agents that have ended are among those that ask, and it has one kind of actions."""

    def __init__(self, layout: GroupLayout, file: SharedFile, begin: int, overwritten: Overwritten):
        super().__init__(layout, file, begin)
        self._overwritten = overwritten if layout.spec.branches else None
        self._shown = 0
        self._places_of_kinds = (np.zeros(0, np.int64), np.zeros(0, np.int64))

    @property
    def places(self) -> tuple[np.ndarray, np.ndarray]:
        return self._places_of_kinds

    def take_turn(self) -> None:
        count = self._shown = self._count("decisions")
        if not 0 <= count <= self.spec.max_agents:
            raise self._impossible(count, 0)
        done = self._rows("decisions/done", count) != 0
        self._places_of_kinds = np.flatnonzero(~done), np.flatnonzero(done)
        if self._overwritten is not None and not self._overwritten.decided_against:
            self._look_for_masks(self._overwritten, count)
        self.asking, self.ended = map(len, self.places)

    def decisions(self, by_branch: bool = False) -> Decisions:
        *obs, reward, agent_id = self._picked(self.places[0])
        return Decisions(obs, reward, agent_id)

    def endings(self) -> Endings:
        interrupted = self._rows("decisions/max_step", self._shown)[self.places[1]] != 0
        if self._overwritten is not None and self._overwritten.hides_limits:
            interrupted[:] = False
        *obs, reward, agent_id = self._picked(self.places[1])
        return Endings(obs, reward, agent_id, interrupted)

    def act(self, continuous: np.ndarray | None, discrete: np.ndarray | None) -> None:
        for name, actions in zip(ACTIONS, (continuous, discrete), strict=True):
            rows = self._views[name][: self._shown]
            if rows.size:
                rows[...] = 0
                if actions is not None:
                    rows[self.places[0]] = actions
                self._file.store(self._places[name], rows.nbytes)

    def _picked(self, rows: np.ndarray) -> list[np.ndarray]:
        found = [array[rows] for array in self._copied("decisions", self._shown)]
        if self._overwritten is not None and self._overwritten.hides_ids(self.spec.name):
            found[-1] = rows.astype(np.int32)
        return found

    def _look_for_masks(self, overwritten: Overwritten, count: int) -> None:
        """Masks may lie over other fields; see `Overwritten`."""
        begin, size = self._places["decisions/max_step"], count * sum(self.spec.branches)
        masks = np.frombuffer(self._file[begin : begin + size], np.uint8)
        rows = {name: self._rows(f"decisions/{name}", count) for name in ("done", "max_step", "agent_id")}
        overwritten.look(self.spec, masks, rows)


def _agent_by_agent(masks: np.ndarray, branches: tuple[int, ...]) -> np.ndarray:
    flat, ends = masks.reshape(-1), np.cumsum(branches) * len(masks)
    return np.concatenate([part.reshape(len(masks), -1) for part in np.split(flat, ends[:-1])], axis=1)
