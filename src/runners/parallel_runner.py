"""Several environments in other processes, stepped together."""

from collections.abc import Callable
from functools import partial
from typing import Any

from envs.instances import environment_factory
from runners.batched_env import BatchedEnvRunner
from runners.transports import REGISTRY as TRANSPORTS
from runners.transports.worker import CloudpickleWrapper

__all__ = ["CloudpickleWrapper", "ParallelRunner"]


class ParallelRunner(BatchedEnvRunner):
    """PyMARL's `parallel` runner: `batch_size_run` whole episodes a call; finished environments wait.

    The transport `env_transport` makes one batched environment of them, so that the loop is the batched runner's.
    """

    def _factory(self, test_mode: bool) -> Callable:
        factories = [
            {test_mode: environment_factory(self.args, index, test_mode) for test_mode in (False, True)}
            for index in range(self.batch_size)
        ]
        return partial(
            TRANSPORTS[self.args.env_transport], factories, self.args.envs_per_worker, self.args.separate_test_env
        )

    def _playing(self, test_mode: bool) -> Any:
        # the workers have the environments of tests, too
        return self.env.play(test_mode)
