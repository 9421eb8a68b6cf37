"""The environments of a run: in this process, in worker processes, or as one batch."""

from collections.abc import Callable, Sequence
from functools import partial
from types import SimpleNamespace

import numpy as np

from utils.processes.available_memory import available_memory, require_memory
from vector_envs import TRANSPORTS
from vector_envs.batched import BatchedCopies
from vector_envs.contract import VectorEnv
from vector_envs.faults import FaultPolicy
from vector_envs.in_process import InProcessCopies
from vector_envs.instances import batched_environment_factory, copies_of, environment_factory
from vector_envs.parts import InParts
from vector_envs.threads import takes_threads, threads_of
from vector_envs.train_and_test import LocalCopies, TrainAndTest

# bytes that an environment process takes at least: Python with NumPy, without shared pages
PROCESS_BYTES = 24 * 2**20
MODES = (False, True)


def batched(args: SimpleNamespace, parts: int = 1) -> VectorEnv:
    """As one batch for training and one for tests, in this process.

    Args:
        parts: the number of batches that the copies of training are divided into, as evenly as possible.
    """
    has_threads = takes_threads(args.env)

    def batch(test_mode: bool, indices: Sequence[int]) -> Callable[[int], LocalCopies]:
        threads = threads_of(args, args.env_threads, len(indices)) if has_threads else None
        factory = batched_environment_factory(args, test_mode, indices, threads)
        return lambda recreated: BatchedCopies(factory(recreated), len(indices))

    make = {mode: batch(mode, range(copies_of(args, mode))) for mode in MODES}
    if parts > 1:
        shares = [share.tolist() for share in np.array_split(np.arange(args.batch_size_run), parts)]
        of_parts, sizes = [batch(False, share) for share in shares], [len(share) for share in shares]
        make[False] = lambda recreated: InParts([factory(recreated) for factory in of_parts], sizes)
    return TrainAndTest(make, args.separate_test_env)


def in_process(args: SimpleNamespace) -> VectorEnv:
    """In this process."""

    def copies(test_mode: bool) -> Callable[[int], LocalCopies]:
        factories = [environment_factory(args, b, test_mode) for b in range(copies_of(args, test_mode))]
        return lambda recreated: InProcessCopies([partial(factory, recreated) for factory in factories])

    return TrainAndTest({mode: copies(mode) for mode in MODES}, args.separate_test_env)


def workers(args: SimpleNamespace) -> VectorEnv:
    """In processes of `envs_per_worker` environments each.

    Raises:
        MusterError: the processes would take more memory than is available.
    """
    processes = -(-args.batch_size_run // args.envs_per_worker)
    require_memory(
        f"batch_size_run={args.batch_size_run} ({processes} environment processes)",
        processes * PROCESS_BYTES,
        available_memory(),
        "Choose a smaller batch_size_run or a larger envs_per_worker.",
    )
    factories = [
        {mode: environment_factory(args, index, mode) for mode in MODES} for index in range(args.batch_size_run)
    ]
    return TRANSPORTS[args.env_transport](
        factories,
        args.envs_per_worker,
        args.separate_test_env,
        faults=FaultPolicy(args.on_worker_fault == "restart", args.max_worker_restarts, args.worker_timeout),
        seed=args.env_args.get("seed"),
    )
