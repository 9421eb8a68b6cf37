"""One environment in this process, one whole episode a call."""

from collections.abc import Callable

from components.episode_buffer import EpisodeBatch
from envs.instances import environment_factory
from runners.environment_runner import EnvironmentRunner
from utils.config import with_defaults


class EpisodeRunner(EnvironmentRunner):
    """PyMARL's `episode` runner; tests play on an environment of their own if `separate_test_env`."""

    def __init__(self, args, logger):
        environments = with_defaults(args).batch_size_run
        if environments != 1:
            raise ValueError(f"The episode runner runs one environment, not batch_size_run={environments}.")
        super().__init__(args, logger)

    def _factory(self, test_mode: bool) -> Callable:
        return environment_factory(self.args, 0, test_mode)

    def run(self, test_mode: bool = False) -> EpisodeBatch:
        """Play one episode; its last filled column is the closing state."""
        env = self._playing(test_mode)
        batch = self.batch = self.new_batch()
        env.reset()
        self.t = 0
        self.mac.init_hidden(batch_size=self.batch_size)
        ended, episode_return = False, 0.0

        while True:
            observed = {
                "state": [env.get_state()],
                "avail_actions": [env.get_avail_actions()],
                "obs": [env.get_obs()],
            }
            batch.update(observed, ts=self.t)
            actions = self.mac.select_actions(batch, t_ep=self.t, t_env=self.t_env, test_mode=test_mode)
            actions = actions.cpu().numpy()
            batch.update({"actions": actions}, ts=self.t)
            # the closing state gets an action too, which nobody takes
            if ended:
                break
            reward, ended, info = env.step(actions[0])
            episode_return += float(reward)
            truncated = bool(ended and info.get("episode_limit", False))
            outcome = {"reward": [reward], "terminated": [ended and not truncated], "truncated": [truncated]}
            batch.update({key: value for key, value in outcome.items() if key in batch.scheme}, ts=self.t)
            self.t += 1

        self._record([episode_return], [self.t], [info], test_mode)
        return batch
