"""What all runners share that are built in: they step a batched environment."""

from collections.abc import Callable

import numpy as np

from components.episode_buffer import EpisodeBatch
from components.step_writer import StepWriter
from envs.instances import batched_environment_factory
from runners.environment_runner import EnvironmentRunner
from runners.ongoing import FinishedEpisode, OngoingPlay


class BatchedEnvRunner(EnvironmentRunner):
    """Plays on a batched environment (`envs.batched`) of `batch_size_run` copies.

    It plays whole episodes, all copies from the same moment. A subclass may say in `_play` how else training plays.
    """

    def run(self, test_mode: bool = False) -> EpisodeBatch:
        """Play, and return what was played."""
        self.batch = self._play_together(test_mode=True) if test_mode else self._play()
        return self.batch

    def _play(self) -> EpisodeBatch:
        """What a call brings in training."""
        return self._play_together(test_mode=False)

    def _factory(self, test_mode: bool) -> Callable:
        return batched_environment_factory(self.args, test_mode)

    def _ongoing_play(self) -> OngoingPlay:
        return OngoingPlay(self.env, self.mac, self.new_batch(max_seq_length=2))

    def _record_finished(self, finished: list[FinishedEpisode], steps: int | None = None) -> None:
        figures = [(episode.episode_return, episode.length, episode.info) for episode in finished]
        returns, lengths, infos = (list(column) for column in zip(*figures, strict=True)) if figures else ([], [], [])
        self._record(returns, lengths, infos, test_mode=False, steps=steps)

    def _play_together(self, test_mode: bool) -> EpisodeBatch:
        """Play one episode in each copy, all from the same moment; row b of the batch is copy b."""
        env, mac, size = self._playing(test_mode), self.mac, self.batch_size
        if test_mode and self.recorder is not None:
            env, mac = self.recorder.watch(env, mac, self.t_env)
        batch = self.new_batch()
        store = StepWriter(batch)
        env.reset()
        mac.init_hidden(batch_size=size)
        self.t = 0
        returns, lengths = np.zeros(size), np.zeros(size, dtype=np.int64)
        playing = np.arange(size)
        # copies that still get an action: those that play, and those that have just reached their closing state
        acting = playing
        actions = np.zeros((size, env.n_agents), dtype=np.int64)
        store.write(env.observed(), playing, 0, mark_filled=True)

        while True:
            bs = slice(None) if acting.size == size else acting.tolist()
            chosen = mac.select_actions(batch, t_ep=self.t, t_env=self.t_env, bs=bs, test_mode=test_mode)
            actions[acting] = chosen.cpu().numpy()
            store.write({"actions": actions[:, :, None]}, acting, self.t)
            if not playing.size:
                break
            reward, terminated, truncated = env.step(actions)
            returns[playing] += reward[playing]
            lengths[playing] += 1
            outcome = {"reward": reward, "terminated": terminated & ~truncated, "truncated": truncated}
            store.write({key: value[:, None] for key, value in outcome.items()}, playing, self.t)
            self.t += 1
            store.write(env.observed(), playing, self.t, mark_filled=True)
            acting, playing = playing, playing[~terminated[playing]]

        infos = [env.info(b) for b in range(size)]
        self._record(returns.tolist(), lengths.tolist(), infos, test_mode)
        return batch
