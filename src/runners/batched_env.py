"""What all runners share that are built in: they step a batched environment."""

from collections.abc import Callable
from typing import Any

import numpy as np

from components.episode_buffer import EpisodeBatch
from components.step_writer import StepWriter
from controllers.decisions import Decider
from runners.environment_runner import EnvironmentRunner
from runners.ongoing import FinishedEpisode, OngoingPlay
from runners.step_checks import StepChecks
from vector_envs.contract import BatchedEnv
from vector_envs.instances import batched_environment_factory


class BatchedEnvRunner(EnvironmentRunner):
    """Plays on a batched environment (`vector_envs.contract`) of `batch_size_run` copies.

    It plays whole episodes, all copies from the same moment. A subclass may say in `_play` how else training plays.
    """

    def setup(self, scheme, groups, preprocess, mac) -> None:
        super().setup(scheme, groups, preprocess, mac)
        self._in_play = False
        self._checks = StepChecks(self.env, self.batch_size)
        self.ongoing = self._begin_ongoing()

    def run(self, test_mode: bool = False) -> EpisodeBatch:
        """Play, and return what was played."""
        self._in_play = not test_mode
        self.batch = self._play_together(test_mode=True) if test_mode else self._play()
        self._in_play = False
        return self.batch

    def _play(self) -> EpisodeBatch:
        """What a call brings in training."""
        return self._play_together(test_mode=False)

    def _factory(self, test_mode: bool) -> Callable:
        return batched_environment_factory(self.args, test_mode)

    def _ongoing_play(self) -> OngoingPlay:
        return OngoingPlay(self.env, self.mac, self.new_batch(max_seq_length=2), self._checks)

    def state_dict(self) -> dict:
        """As of every runner; what plays on is None after a fault, which may have left it in the middle of a turn."""
        ongoing = None if self.ongoing is None or self._in_play else self.ongoing.state_dict()
        return {**super().state_dict(), "ongoing": ongoing}

    def load_state_dict(self, state: dict) -> None:
        super().load_state_dict(state)
        if self.ongoing is None:
            return
        if state["ongoing"] is None or not self.environments_restored:
            self.ongoing = self._begin_ongoing()
        else:
            self.ongoing.load_state_dict(state["ongoing"])

    def _begin_ongoing(self) -> Any:
        """What plays on between calls, from new episodes on; None: every call begins episodes of its own."""
        return None

    def _record_finished(self, finished: list[FinishedEpisode], steps: int | None = None) -> None:
        figures = [(episode.episode_return, episode.length, episode.info) for episode in finished]
        returns, lengths, infos = (list(column) for column in zip(*figures, strict=True)) if figures else ([], [], [])
        self._record(returns, lengths, infos, test_mode=False, steps=steps)

    def _take_dropped(self) -> list[int]:
        """Copies that have failed since the last call and were created anew: their unfinished episodes are lost."""
        return []

    def _play_together(self, test_mode: bool) -> EpisodeBatch:
        """Play one episode in each copy, all from the same moment; row b of the batch is copy b.

        An episode that is lost to a fault leaves nothing behind: when the others have ended, its row is played anew.
        """
        env, listener, size = self._playing(test_mode), None, self.batch_size
        if test_mode and self.recorder is not None:
            env, listener = self.recorder.watch(env, self.t_env)
        batch = self.new_batch()
        decider = Decider(self.mac, batch, listener)
        returns, lengths = np.zeros(size), np.zeros(size, dtype=np.int64)
        env.reset()
        lost = self._play_rows(env, decider, batch, np.arange(size), returns, lengths, test_mode)
        while lost.size:
            for tensor in batch.data.transition_data.values():
                tensor[lost.tolist()] = 0
            returns[lost], lengths[lost] = 0, 0
            env.reset(np.isin(np.arange(size), lost))
            lost = self._play_rows(env, decider, batch, lost, returns, lengths, test_mode)

        infos = [env.info(b) for b in range(size)]
        self._record(returns.tolist(), lengths.tolist(), infos, test_mode)
        return batch

    def _play_rows(
        self,
        env: BatchedEnv,
        decider: Decider,
        batch: EpisodeBatch,
        rows: np.ndarray,
        returns: np.ndarray,
        lengths: np.ndarray,
        test_mode: bool,
    ) -> np.ndarray:
        """Play the episodes that the copies `rows` (ascending) have just begun into these rows of the batch.

        Returns:
            those of them whose episode was lost.
        """
        size = self.batch_size
        store = StepWriter(batch)
        self.mac.init_hidden(batch_size=size)
        self.t = 0
        playing = rows
        # copies that still get an action: those that play, and those that have just reached their closing state
        acting = playing
        decisions: dict[str, np.ndarray] = {}
        lost = np.zeros(size, dtype=bool)
        self._take_dropped()  # in a reset nothing is lost
        observed, checks = env.observed(), self._checks
        checks.observed(observed, playing, 0)
        store.write(observed, playing, 0, mark_filled=True)

        while acting.size:
            try:
                decided = decider.decide(self.t, self.t_env, None if acting.size == size else acting, test_mode)
            except RuntimeError:
                checks.undecided(observed["avail_actions"], acting, self.t)
                raise
            checks.chosen(observed["avail_actions"], decided["actions"][:, :, 0], acting, self.t)
            for key, value in decided.items():
                if key not in decisions:  # rows of all episodes, of which fewer and fewer act
                    decisions[key] = np.zeros((size, *value.shape[1:]), dtype=value.dtype)
                decisions[key][acting] = value
            actions = decisions["actions"][:, :, 0]
            store.write(decisions, acting, self.t)
            if not playing.size:
                break
            reward, terminated, truncated = env.step(actions)
            lengths[playing] += 1
            checks.stepped((reward, terminated, truncated), playing, lengths)
            returns[playing] += reward[playing]
            outcome = {"reward": reward, "terminated": terminated & ~truncated, "truncated": truncated}
            store.write({key: value[:, None] for key, value in outcome.items()}, playing, self.t)
            self.t += 1
            observed = env.observed()
            checks.observed(observed, playing, self.t)
            store.write(observed, playing, self.t, mark_filled=True)
            acting, playing = playing, playing[~terminated[playing]]
            if dropped := self._take_dropped():
                lost[dropped] = True
                acting = acting[~lost[acting]]
        return np.flatnonzero(lost)
