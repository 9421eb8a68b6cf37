"""Rollouts that are being played. A run that stops between two steps keeps them, and a resumed one ends them."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from checkpoints.tree import tree_of_tensors
from components.batch_state import batch_state, put_batch_state
from components.episode_batch import EpisodeBatch
from envs.contract.fields import EnvSpec
from runners.auto_reset import FinishedEpisode
from runners.returns import EpisodeReturns
from utils.tensors.tensor_trees import Tree

# seconds until the first line; each other one comes when twice as long has passed
FIRST = 10.0


class SlowRollout:
    """Says how far the first rollout is, and how fast, if it takes long.

    Args:
        say: takes a line.
        longest: the most steps that it may have.
    """

    def __init__(self, say: Callable[[str], None], longest: int):
        self._say, self._longest = say, longest
        self._began, self._next = time.monotonic(), FIRST

    def played(self, steps: int) -> None:
        """So many steps are done."""
        passed = time.monotonic() - self._began
        if passed >= self._next:
            self._next = 2 * passed
            self._say(
                f"Playing the first rollout: {steps:,} of up to {self._longest:,} steps after {passed:.0f} seconds "
                f"({steps / passed:.1f} steps/s)"
            )


class StartedEpisodes:
    """Whole episodes, of which row b is copy b's, all at the same step.

    Attributes:
        t: the step.
        playing: copies in an episode, int64, ascending; acting: those that still get an action, `playing` and those in
            their closing state.
        lost: bool `[B]`, void because their environment failed.
        lengths: int64 `[B]`.
        infos: the last infos of episodes that ended before the run was resumed, by row.
        memory: the controller's, where the run is resumed.
    """

    def __init__(self, spec: EnvSpec, batch: EpisodeBatch, test_mode: bool):
        size = batch.batch_size
        self.batch, self.test_mode = batch, test_mode
        self.returns, self.lengths = EpisodeReturns(spec, size), np.zeros(size, dtype=np.int64)
        self.lost = np.zeros(size, dtype=bool)
        self.infos: dict[int, dict[str, Any]] = {}
        self.memory: Tree = None
        self.t, self.playing, self.acting = 0, np.arange(size), np.arange(size)

    def begin_again(self, rows: np.ndarray) -> None:
        """Other episodes start in the copies `rows`, whose own were lost."""
        for tensor in self.batch.data.transition_data.values():
            tensor[rows.tolist()] = 0
        self.returns.clear(rows)
        self.lengths[rows] = 0
        self.t, self.playing, self.acting = 0, rows, rows
        self.lost[:] = False

    def ended(self) -> np.ndarray:
        """The rows of episodes that have ended."""
        over = np.setdiff1d(np.flatnonzero(self.lengths), self.playing)
        return over[~self.lost[over]]

    def state_dict(self) -> dict[str, Any]:
        return {
            "test_mode": self.test_mode,
            "rows": self.batch.batch_size,
            "batch": batch_state(self.batch, steps=self.t + 1),
            "returns": self.returns.state_dict(),
            "lengths": self.lengths,
            "lost": self.lost,
            "playing": self.playing,
            "acting": self.acting,
            "t": self.t,
            "infos": {b: savable(info) for b, info in self.infos.items()},
            "memory": self.memory,
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Be the episodes that `state_dict` was taken of."""
        put_batch_state(self.batch, state["batch"])
        self.returns.load_state_dict(state["returns"])
        self.lengths, self.lost = state["lengths"], state["lost"]
        self.playing, self.acting, self.t = state["playing"], state["acting"], int(state["t"])
        self.infos, self.memory = state["infos"], state["memory"]


@dataclass
class StartedRollout:
    """A rollout of all copies up to its column `t`.

    `finished`, `ends`: the episodes that have ended, and their last infos by row and column. `steps`: of the copies.
    """

    batch: EpisodeBatch
    t: int = 0
    steps: int = 0
    finished: list[FinishedEpisode] = field(default_factory=list)
    ends: dict[tuple[int, int], dict[str, Any]] = field(default_factory=dict)

    test_mode = False

    def state_dict(self) -> dict[str, Any]:
        return {
            "batch": batch_state(self.batch, steps=self.t + 1),
            "t": self.t,
            "steps": self.steps,
            "finished": [kept(episode) for episode in self.finished],
            "ends": [[row, t, savable(info)] for (row, t), info in self.ends.items()],
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Be the rollout that `state_dict` was taken of."""
        put_batch_state(self.batch, state["batch"])
        self.t, self.steps = int(state["t"]), int(state["steps"])
        self.finished = [FinishedEpisode(**episode) for episode in state["finished"]]
        self.ends = {(row, t): info for row, t, info in state["ends"]}


def kept(episode: FinishedEpisode) -> dict[str, Any]:
    """An episode as a checkpoint keeps it."""
    return {**vars(episode), "info": savable(episode.info)}


def savable(info: Mapping[Any, Any]) -> dict[str, Any]:
    """What a checkpoint can keep of an environment's info: no objects of its own."""
    found = {}
    for key, value in info.items():
        try:
            tree_of_tensors({key: value})
        except Exception:  # objects of any library, lists that contain themselves
            continue
        found[key] = value
    return found
