"""Agents of a group that come and go, in rows that stay: every id is a stream of its own."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from envs.dots.faults import SimulatorFault

# of `Streams`, in its state
ARRAYS = ("returns", "lengths", "ids", "open", "heard")


@dataclass
class Finished:
    """Streams that have ended: the sums of their rewards, and their numbers of decisions."""

    returns: list[float] = field(default_factory=list)
    lengths: list[int] = field(default_factory=list)


class Streams:
    """The rows of a group's agents.

    An agent that asks for the first time, or for the first time after its end, gets a free row, and its stream begins.
    It keeps the row until it ends. If none is free, the row of the agent that has been silent the longest is taken: a
    simulator may forget agents without saying so.
    """

    def __init__(self, size: int):
        self.size = size
        self.returns, self.lengths = np.zeros(size), np.zeros(size, dtype=np.int64)
        # whose row it is, where `open`
        self.ids = np.zeros(size, dtype=np.int64)
        self.open = np.zeros(size, dtype=bool)
        self.finished = Finished()
        self._row_of: dict[int, int] = {}
        # the turn in which it asked last
        self.heard = np.zeros(size, dtype=np.int64)
        self._turn = 0
        self._same: tuple[bytes, np.ndarray] | None = None
        # agents whose row was taken from them
        self.displaced = 0

    def state_dict(self) -> dict[str, Any]:
        finished = {"returns": list(self.finished.returns), "lengths": list(self.finished.lengths)}
        return {name: getattr(self, name).copy() for name in ARRAYS} | {"turn": self._turn, "finished": finished}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        for name in ARRAYS:
            getattr(self, name)[...] = state[name]
        self._turn, self.finished = state["turn"], Finished(**state["finished"])
        self._row_of = {int(self.ids[row]): int(row) for row in np.flatnonzero(self.open)}
        self._same = None

    def clear(self) -> None:
        self.open[:] = False
        self._row_of.clear()
        self._same = None
        self.returns[:] = 0
        self.lengths[:] = 0

    def end(self, ids: np.ndarray, rewards: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Agents have ended: their rows, and which of `ids` they belong to, bool `[len(ids)]`; others never asked."""
        known = np.array([int(one) in self._row_of for one in ids], dtype=bool)
        rows = np.array([self._row_of[int(one)] for one in ids[known]], dtype=np.int64)
        self.returns[rows] += rewards[known]
        self.finished.returns += self.returns[rows].tolist()
        self.finished.lengths += self.lengths[rows].tolist()
        for one in ids[known]:
            self._row_of.pop(int(one), None)
        self.open[rows] = False
        if len(rows):
            self._same = None
        return rows, known

    def ask(self, ids: np.ndarray, rewards: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Agents ask for a decision: their rows, and whose stream begins, bool `[len(ids)]`, whose reward is of no
        decision."""
        self._turn += 1
        key = ids.tobytes()
        if self._same is not None and self._same[0] == key:
            rows, begins = self._same[1], np.zeros(len(ids), dtype=bool)
        else:
            rows, begins = self._rows(ids)
            self._same = key, rows
        self.heard[rows] = self._turn
        fresh = rows[begins]
        self.returns[rows] += rewards
        self.returns[fresh] = 0
        self.lengths[fresh] = 0
        self.lengths[rows] += 1
        return rows, begins

    def _rows(self, ids: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        found = [self._row_of.get(one) for one in ids.tolist()]
        begins = np.array([row is None for row in found], dtype=bool)
        rows = np.array([-1 if row is None else row for row in found], dtype=np.int64)
        if len(set(ids.tolist())) < len(ids):
            raise SimulatorFault(f"The simulator shows an agent twice in one turn: {np.sort(ids).tolist()[:50]}")
        if begins.any():
            free = self._free(rows[~begins])[: np.count_nonzero(begins)]
            for row in free[self.open[free]].tolist():
                self._row_of.pop(int(self.ids[row]), None)
                self.displaced += 1
            rows[begins] = free
            self.ids[free], self.open[free] = ids[begins], True
            self._row_of.update(zip(ids[begins].tolist(), free.tolist(), strict=True))
        return rows, begins

    def _free(self, taken: np.ndarray) -> np.ndarray:
        """Rows for new agents, the best first: free ones, then those of agents that have been silent."""
        others = np.setdiff1d(np.arange(self.size), taken)
        silence = np.where(self.open[others], self.heard[others] + 1, 0)
        return others[np.argsort(silence, kind="stable")]
