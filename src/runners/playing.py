"""The common part of all built-in runners, which play on a source of environments (`vector_envs`)."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from components.episode_buffer import EpisodeBatch
from components.step_writer import StepWriter
from controllers.decisions import Decider
from runners.auto_reset import AutoResetPlay, FinishedEpisode
from runners.base import BaseRunner
from runners.returns import EpisodeReturns
from runners.sources import source_of
from runners.step_checks import StepChecks
from utils.config import with_defaults
from utils.timing import timed
from vector_envs import REGISTRY as SOURCES
from vector_envs.contract import VectorEnv
from vector_envs.first_copies import FirstCopies


class EpisodesRunner(BaseRunner):
    """Plays `batch_size_run` whole episodes a call, all copies from the same moment.

    A subclass may say in `_play` how else training plays.
    """

    # the source of its environments if the config leaves it open
    lives = ""

    def __init__(self, args, logger):
        super().__init__(args, logger)
        source = source_of(vars(self.args), self.lives)
        self.vector_env = SOURCES[source](with_defaults(self.args, SOURCES.entry(source).defaults))
        self.spec = self.vector_env.spec
        self.episode_limit = self.spec.episode_limit
        # arguments of the environments that have changed, which they have not yet
        self._live_args: dict[str, Any] = {}
        # records tests, see `replays.recorder.Recorder`
        self.recorder = None

    @property
    def env(self) -> Any:
        """The copies that training plays on."""
        return self.vector_env.play(False)

    def get_env_info(self) -> dict:
        return dict(self.spec.env_info)

    def save_replay(self) -> None:
        """Save a replay of the environment that tests play on."""
        self.vector_env.save_replay()

    def close_env(self) -> None:
        self.vector_env.close()

    def setup(self, scheme, groups, preprocess, mac) -> None:
        super().setup(scheme, groups, preprocess, mac)
        self._in_play = False
        self._checks: dict[int, StepChecks] = {}  # by the number of copies
        self.ongoing = self._begin_ongoing()

    def run(self, test_mode: bool = False) -> EpisodeBatch:
        """Play, and return the batch."""
        self._in_play = not test_mode
        for name in list(self._live_args):
            self.vector_env.take_live(name, self._live_args.pop(name))
        self.batch = self._play_together(test_mode=True) if test_mode else self._play()
        self._in_play = False
        return self.batch

    def take_live(self, key: str, value: Any) -> None:
        """A key of the config has changed. Environments take theirs before they play next: a thread may play now."""
        room, _, name = key.partition(".")
        if room == "env_args":
            self._live_args[name] = value

    def _play(self) -> EpisodeBatch:
        """The number of episodes of a training call."""
        return self._play_together(test_mode=False)

    @property
    def worker_restarts(self) -> int:
        return self.vector_env.restarts

    def _auto_reset_play(self) -> AutoResetPlay:
        return AutoResetPlay(
            self.vector_env, self.mac, self.new_batch(max_seq_length=2), self._checks_of(self.batch_size)
        )

    def environments_state(self) -> dict[str, Any]:
        return self.vector_env.state_dict()

    def load_environments_state(self, state: dict[str, Any]) -> bool:
        return self.vector_env.load_state_dict(state)

    def state_dict(self) -> dict:
        """As of every runner; the ongoing play is None after a fault, which may have interrupted a step."""
        ongoing = None if self.ongoing is None or self._in_play else self.ongoing.state_dict()
        return {**super().state_dict(), "ongoing": ongoing}

    def load_state_dict(self, state: dict) -> None:
        super().load_state_dict(state)
        if self.ongoing is None:
            return
        if state["ongoing"] is None or not self.environments_restored:
            self.ongoing = self._begin_ongoing()
            if self.best_episodes is not None:
                self.best_episodes.joined.forget()
        else:
            self.ongoing.load_state_dict(state["ongoing"])

    def _begin_ongoing(self) -> Any:
        """The play that continues between calls, at new episodes; None: every call starts its own episodes."""
        return None

    def _record_finished(self, finished: list[FinishedEpisode], steps: int | None = None) -> None:
        figures = [(episode.episode_return, episode.length, episode.info) for episode in finished]
        returns, lengths, infos = (list(column) for column in zip(*figures, strict=True)) if figures else ([], [], [])
        self._record(returns, lengths, infos, test_mode=False, steps=steps)

    def _play_together(self, test_mode: bool) -> EpisodeBatch:
        """Play one episode in each copy, all from the same moment; row b of the batch is copy b.

        The copies are the first ones in a test that needs fewer episodes than there are copies.
        An episode that is lost to a fault leaves nothing behind: when the others have ended, another one is played
        into its row.
        """
        env, listener, size = self.vector_env.play(test_mode), None, self.batch_size
        if test_mode and self.on_match_episode is None:
            size = min(size, self.args.test_nepisode - len(self.test_returns))
        if size < self.batch_size:
            env = FirstCopies(env, size, self.batch_size)
        if test_mode and self.recorder is not None:
            env, listener = self.recorder.watch(env, self.t_env)
        batch = self.new_batch(batch_size=size)
        decider = Decider(self.mac, batch, listener)
        returns, lengths = EpisodeReturns(self.spec, size), np.zeros(size, dtype=np.int64)
        env.reset()
        lost = self._play_rows(env, decider, batch, np.arange(size), returns, lengths, test_mode)
        while lost.size:
            for tensor in batch.data.transition_data.values():
                tensor[lost.tolist()] = 0
            returns.clear(lost)
            lengths[lost] = 0
            env.reset(np.isin(np.arange(size), lost))
            lost = self._play_rows(env, decider, batch, lost, returns, lengths, test_mode)

        infos = [{**env.info(b), **returns.of_groups(b)} for b in range(size)]
        self._record(returns.totals.tolist(), lengths.tolist(), infos, test_mode)
        self._take_ends(batch, {(b, int(lengths[b]) - 1): infos[b] for b in range(size)}, test_mode)
        return batch

    def _play_rows(
        self,
        env: VectorEnv,
        decider: Decider,
        batch: EpisodeBatch,
        rows: np.ndarray,
        returns: EpisodeReturns,
        lengths: np.ndarray,
        test_mode: bool,
    ) -> np.ndarray:
        """Play the episodes that the copies `rows` (ascending) have just started into these rows of the batch.

        Returns:
            those of them whose episode was lost.
        """
        size = batch.batch_size
        store = StepWriter(batch)
        self.mac.init_hidden(batch_size=size)
        self.t = 0
        playing = rows
        # copies that still get an action: those that play, and those in their closing state
        acting = playing
        lost = np.zeros(size, dtype=bool)
        observed, checks = env.observed(), self._checks_of(size)
        checks.observed(observed, playing, 0)
        store.write(observed, playing, 0, mark_filled=True)

        while acting.size:
            try:
                with timed("act"):
                    decided = decider.decide(self.t, self.t_env, None if acting.size == size else acting, test_mode)
            except RuntimeError:
                checks.undecided(observed, acting, self.t)
                raise
            actions = self.spec.actions_of(decided)
            checks.chosen(observed, actions, acting, self.t)
            if acting.size < size:  # fewer and fewer of the rows
                decided = {key: _of_all_rows(value, acting, size) for key, value in decided.items()}
                actions = self.spec.actions_of(decided)
            store.write(decided, acting, self.t)
            if not playing.size:
                break
            with timed("step"):
                outcome = env.step(actions)
            lengths[playing] += 1
            checks.stepped(outcome, playing, lengths)
            returns.add(outcome.values, playing)
            store.write(outcome_fields(outcome), playing, self.t)
            self.t += 1
            observed = env.observed()
            checks.observed(observed, playing, self.t)
            store.write(observed, playing, self.t, mark_filled=True)
            ended = outcome.terminated | outcome.truncated | outcome.lost
            acting, playing = playing, playing[~ended[playing]]
            if np.count_nonzero(outcome.lost):
                lost |= outcome.lost
                acting = acting[~lost[acting]]
        return np.flatnonzero(lost)

    def _checks_of(self, size: int) -> StepChecks:
        if size not in self._checks:
            self._checks[size] = StepChecks(self.spec, size)
        return self._checks[size]


def _of_all_rows(values: np.ndarray, rows: np.ndarray, size: int) -> np.ndarray:
    """Values of some rows, at their places among all; zeros elsewhere."""
    placed = np.zeros((size, *values.shape[1:]), dtype=values.dtype)
    placed[rows] = values
    return placed


def outcome_fields(outcome: Any) -> Mapping[str, np.ndarray]:
    """A step's outcome by the fields of a batch."""
    return {**outcome.values, "terminated": outcome.terminated, "truncated": outcome.truncated}
