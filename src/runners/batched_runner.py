"""Many copies of an environment in this process, stepped by one call."""

import numpy as np

from components.episode_buffer import EpisodeBatch
from components.step_writer import StepWriter
from envs.instances import batched_environment_factory
from runners.base import BaseRunner


class BatchedRunner(BaseRunner):
    """`batch_size_run` whole episodes a call, on an environment that steps them together (`envs.batched`).

    Plays exactly what the parallel runner plays with the same seed, without processes between.
    """

    def __init__(self, args, logger):
        super().__init__(args, logger)
        self.env = batched_environment_factory(self.args, test_mode=False)()
        self.test_env = None
        self.episode_limit = self.env.episode_limit

    def get_env_info(self) -> dict:
        return self.env.get_env_info()

    def save_replay(self) -> None:
        """Let the environment that tests play on save the replay of its first copy."""
        (self.test_env or self.env).save_replay()

    def close_env(self) -> None:
        for env in (self.env, self.test_env):
            if env is not None:
                env.close()

    def _playing(self, test_mode: bool):
        if not test_mode or not self.args.separate_test_env:
            return self.env
        if self.test_env is None:
            self.test_env = batched_environment_factory(self.args, test_mode=True)()
        return self.test_env

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
