"""Whole episodes of copies that do not wait for each other."""

from collections.abc import Callable
from functools import partial

import numpy as np

from components.batch_state import batch_state, put_batch_state
from components.episode_buffer import EpisodeBatch
from components.recent_steps import RecentSteps
from components.step_writer import StepWriter
from runners.auto_reset import AutoResetPlay, FinishedEpisode
from runners.playing import EpisodesRunner
from runners.started import kept


class EpisodeCollector:
    """Cuts the ongoing play of B copies into batches of B finished episodes, in the order of their ends.

    Those that end together beyond a full batch are the first of the next one.

    Args:
        play: the copies.
        new_batch: makes an empty batch of B whole episodes.
    """

    def __init__(self, play: AutoResetPlay, new_batch: Callable[[], EpisodeBatch]):
        self._play, self._new_batch = play, new_batch
        self._everyone = np.arange(play.size)
        # the episodes that the copies play now, so far: of copy b the last `_t[b]` steps
        self._recent = RecentSteps(new_batch())
        self._store = StepWriter(self._recent.batch, play.pending)
        self._t = np.zeros(play.size, dtype=np.int64)
        self._closing: list[FinishedEpisode] = []
        self._gathered: list[FinishedEpisode] = []
        self._batch = new_batch()
        self._complete: list[tuple[EpisodeBatch, list[FinishedEpisode]]] = []

    def collect(self, t_env: int, before_step: Callable[[int], None]) -> tuple[EpisodeBatch, list[FinishedEpisode]]:
        """Play until B episodes have ended; returns them, a row each, and the figures of each.

        `before_step` is called before each step, with the number of copies that play.
        """
        while not self._complete:
            before_step(int(np.count_nonzero(~self._play.closing)))
            slot = self._recent.slot
            self._store.write(self._play.observed(), self._everyone, slot)
            result = self._play.step(t_env)
            self._store.write(result.values, self._everyone, slot)
            self._recent.advance()
            self._take(self._closing)
            self._closing = result.finished
            self._t = np.where(result.closing | result.lost, 0, self._t + 1)
        self._play.settle()
        return self._complete.pop()

    def cut_off(self, t_env: int) -> None:
        """Tests are about to play on these copies: drop the unfinished episodes; those that have ended are kept."""
        if self._closing:
            rows, slot = np.array([episode.row for episode in self._closing]), self._recent.slot
            self._store.clear(rows, slot)
            self._store.write(self._play.observed(), rows, slot, mark_filled=True)
            self._store.write(self._play.decide(t_env), rows, slot)
            self._recent.advance()
            self._take(self._closing)
            self._closing = []
        self._play.cut_off()
        self._t = np.zeros_like(self._t)

    def state_dict(self) -> dict:
        """The unfinished episodes, and those that wait for a full batch."""
        self._play.settle()
        return {
            "play": self._play.state_dict(),
            "t": self._t,
            "unfinished": batch_state(self._unfinished(), steps=int(self._t.max())),
            "closing": [kept(episode) for episode in self._closing],
            "batches": [_batch_of(*one) for one in (*self._complete, (self._batch, self._gathered))],
        }

    def load_state_dict(self, state: dict) -> None:
        """Resume, after `__init__`, from where `state_dict` was taken; the environment must have resumed before."""
        self._play.load_state_dict(state["play"])
        self._t = state["t"]
        self._recent.copy_from(put_batch_state(self._new_batch(), state["unfinished"]), self._t)
        self._closing = [FinishedEpisode(**episode) for episode in state["closing"]]
        batches = [
            (put_batch_state(self._new_batch(), one["batch"]), [FinishedEpisode(**e) for e in one["episodes"]])
            for one in state["batches"]
        ]
        *self._complete, (self._batch, self._gathered) = batches

    def _unfinished(self) -> EpisodeBatch:
        """The episodes that the copies play now: row b is copy b's."""
        batch = self._new_batch()
        for copy, steps in enumerate(self._t.tolist()):
            self._recent.copy_to(batch, copy, copy, steps, self._recent.slot)
        return batch

    def _take(self, episodes: list[FinishedEpisode]) -> None:
        """Copy episodes, which end before the present slot, into the next rows of the batch."""
        for episode in episodes:
            place = self._batch, len(self._gathered), episode.row, episode.length + 1, self._recent.slot
            self._play.pending.add(partial(self._copy, *place))
            self._gathered.append(episode)
            if len(self._gathered) == self._play.size:
                self._complete.append((self._batch, self._gathered))
                self._batch, self._gathered = self._new_batch(), []

    def _copy(self, batch: EpisodeBatch, row: int, copy: int, steps: int, end: int, _: list) -> None:
        self._recent.copy_to(batch, row, copy, steps, end)


def _batch_of(batch: EpisodeBatch, episodes: list[FinishedEpisode]) -> dict:
    """A batch whose first rows are these episodes."""
    steps = max((episode.length + 1 for episode in episodes), default=0)
    return {
        "batch": batch_state(batch, entries=len(episodes), steps=steps),
        "episodes": [kept(episode) for episode in episodes],
    }


class ContinuousRunner(EpisodesRunner):
    """A copy whose episode has ended starts its next one at once.

    A call returns the next `batch_size_run` episodes in the order in which they end; those that have not ended are
    continued in the next call.
    """

    def setup(self, scheme, groups, preprocess, mac) -> None:
        # the unfinished episodes, the finished ones, and the batch that a call returns
        self._require_memory(scheme, groups, preprocess, self.episode_limit + 1, batches=3)
        super().setup(scheme, groups, preprocess, mac)

    def _begin_ongoing(self) -> EpisodeCollector:
        return EpisodeCollector(self._auto_reset_play(), self.new_batch)

    def _play(self) -> EpisodeBatch:
        batch, finished = self.ongoing.collect(self.t_env, self._before_step)
        self._record_finished(finished)
        ends = {(row, episode.length - 1): episode.info for row, episode in enumerate(finished)}
        self._take_ends(batch, ends, test_mode=False)
        return batch
