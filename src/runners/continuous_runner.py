"""Whole episodes of copies that do not wait for each other."""

from components.episode_buffer import EpisodeBatch
from runners.episode_collector import EpisodeCollector
from runners.playing import EpisodesRunner


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
