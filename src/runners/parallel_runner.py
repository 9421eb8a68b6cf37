"""Several environments in other processes, stepped together."""

from collections.abc import Callable
from functools import partial
from typing import Any

from runners.batched_env import BatchedEnvRunner
from utils.available_memory import available_memory, require_memory
from vector_envs import REGISTRY as TRANSPORTS
from vector_envs.faults import FaultPolicy
from vector_envs.instances import environment_factory
from vector_envs.worker import CloudpickleWrapper

# what an environment process takes at least: Python with NumPy, beside what processes share
PROCESS_BYTES = 24 * 2**20

__all__ = ["CloudpickleWrapper", "ParallelRunner"]


class ParallelRunner(BatchedEnvRunner):
    """PyMARL's `parallel` runner: `batch_size_run` whole episodes a call; finished environments wait.

    An environment that fails is created anew, if `on_worker_fault` says so, and its unfinished episode is played anew.
    The transport `env_transport` makes one batched environment of them, so that the loop is the batched runner's.
    """

    def _factory(self, test_mode: bool) -> Callable:
        processes = -(-self.batch_size // self.args.envs_per_worker)
        require_memory(
            f"What batch_size_run={self.batch_size} starts ({processes} environment processes)",
            processes * PROCESS_BYTES,
            available_memory(),
            "Choose a smaller batch_size_run or a larger envs_per_worker.",
        )
        factories = [
            {test_mode: environment_factory(self.args, index, test_mode) for test_mode in (False, True)}
            for index in range(self.batch_size)
        ]
        args = self.args
        return partial(
            TRANSPORTS[args.env_transport],
            factories,
            args.envs_per_worker,
            args.separate_test_env,
            faults=FaultPolicy(args.on_worker_fault == "restart", args.max_worker_restarts, args.worker_timeout),
            seed=args.env_args.get("seed"),
        )

    @property
    def worker_restarts(self) -> int:
        return self.env.restarts

    def _take_dropped(self) -> list[int]:
        dropped, self.env.dropped = self.env.dropped, []
        return dropped

    def _playing(self, test_mode: bool) -> Any:
        # the workers have the environments of tests, too
        return self.env.play(test_mode)
