"""Whole episodes of many copies of an environment, stepped by one call."""

from components.episode_buffer import EpisodeBatch
from runners.batched_env import BatchedEnvRunner
from runners.episode_collector import EpisodeCollector


class BatchedRunner(BatchedEnvRunner):
    """`batch_size_run` episodes a call.

    `batched_mode: synchronous` plays exactly what the parallel runner plays with the same seed, without processes
    between. `continuous`: a copy that has ended begins its next episode at once, and a call returns the next
    `batch_size_run` episodes in the order in which they end; those that have not ended go on in the next call.
    """

    def setup(self, scheme, groups, preprocess, mac) -> None:
        if self.args.batched_mode == "continuous":
            # the episodes that are being played, those that have ended, and what a call returns
            self._require_memory(scheme, groups, preprocess, self.episode_limit + 1, batches=3)
        super().setup(scheme, groups, preprocess, mac)

    def _begin_ongoing(self) -> EpisodeCollector | None:
        if self.args.batched_mode == "synchronous":
            return None
        return EpisodeCollector(self._ongoing_play(), self.new_batch)

    def _play(self) -> EpisodeBatch:
        if self.ongoing is None:
            return self._play_together(test_mode=False)
        batch, finished = self.ongoing.collect(self.t_env)
        self._record_finished(finished)
        return batch
