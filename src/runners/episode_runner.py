"""One environment in this process, one whole episode a call."""

from collections.abc import Callable

from runners.batched_env import BatchedEnvRunner
from utils.config import with_defaults
from vector_envs.in_process import SingleEnvironment
from vector_envs.instances import environment_factory


class EpisodeRunner(BatchedEnvRunner):
    """PyMARL's `episode` runner; tests play on an environment of their own if `separate_test_env`."""

    def __init__(self, args, logger):
        environments = with_defaults(args).batch_size_run
        if environments != 1:
            raise ValueError(f"The episode runner runs one environment, not batch_size_run={environments}.")
        super().__init__(args, logger)

    def _factory(self, test_mode: bool) -> Callable:
        make = environment_factory(self.args, 0, test_mode)
        return lambda recreated=0: SingleEnvironment(make(recreated))
