"""What runners share that play on one environment object."""

from collections.abc import Callable

from runners.base import BaseRunner


class EnvironmentRunner(BaseRunner):
    """One environment, batched or not, for training; another for tests if `separate_test_env`, made when needed."""

    def __init__(self, args, logger):
        super().__init__(args, logger)
        self.env = self._factory(test_mode=False)()
        self.test_env = None
        # looks on while tests are played, see `replays.recorder.Recorder`
        self.recorder = None
        self.episode_limit = self.env.episode_limit

    def _factory(self, test_mode: bool) -> Callable:
        """What makes the environment."""
        raise NotImplementedError(f"{type(self).__name__} does not say what it plays on")

    def get_env_info(self) -> dict:
        return self.env.get_env_info()

    def save_replay(self) -> None:
        """Let the environment that tests play on save its replay."""
        (self.test_env or self.env).save_replay()

    def close_env(self) -> None:
        for env in (self.env, self.test_env):
            if env is not None:
                env.close()

    def _playing(self, test_mode: bool):
        if not test_mode or not self.args.separate_test_env:
            return self.env
        if self.test_env is None:
            self.test_env = self._factory(test_mode=True)()
        return self.test_env
