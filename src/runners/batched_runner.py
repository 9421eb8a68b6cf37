"""Many copies of an environment in this process, stepped by one call."""

from collections.abc import Callable

import numpy as np

from components.episode_buffer import EpisodeBatch
from components.step_writer import StepWriter
from envs.instances import batched_environment_factory
from runners.environment_runner import EnvironmentRunner


class BatchedRunner(EnvironmentRunner):
    """`batch_size_run` whole episodes a call, on an environment that steps them together (`envs.batched`).

    Plays exactly what the parallel runner plays with the same seed, without processes between.
    """

    def _factory(self, test_mode: bool) -> Callable:
        return batched_environment_factory(self.args, test_mode)

    def run(self, test_mode: bool = False) -> EpisodeBatch:
        """Play one episode in each copy; row b of the batch is copy b."""
        env, size = self._playing(test_mode), self.batch_size
        batch = self.batch = self.new_batch()
        store = StepWriter(batch)
        env.reset()
        self.mac.init_hidden(batch_size=size)
        self.t = 0
        returns, lengths = np.zeros(size), np.zeros(size, dtype=np.int64)
        playing = np.arange(size)
        # copies that still get an action: those that play, and those that have just reached their closing state
        acting = playing
        actions = np.zeros((size, env.n_agents), dtype=np.int64)
        store.write(env.observed(), playing, 0, mark_filled=True)

        while True:
            bs = slice(None) if acting.size == size else acting.tolist()
            chosen = self.mac.select_actions(batch, t_ep=self.t, t_env=self.t_env, bs=bs, test_mode=test_mode)
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
