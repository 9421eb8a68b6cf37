"""The environments of a run: in this process, in worker processes, or as one batch."""

from collections.abc import Callable, Sequence
from functools import partial
from types import SimpleNamespace

import numpy as np

from utils.processes.available_memory import available_memory, require_memory
from vector_envs import TRANSPORTS
from vector_envs.contract import VectorEnv
from vector_envs.faults import FaultPolicy
from vector_envs.in_process import InProcessEnv
from vector_envs.instances import batched_environment_factory, copies_of, environment_factory
from vector_envs.native import NativeEnv
from vector_envs.parts import InParts
from vector_envs.split import SplitEnv
from vector_envs.threads import takes_threads, threads_of
from vector_envs.train_and_test import TrainAndTest

# bytes that an environment process takes at least: Python with NumPy, without shared pages
PROCESS_BYTES = 24 * 2**20
MODES = (False, True)


def native(args: SimpleNamespace, parts: int = 1) -> VectorEnv:
    """As one batch for training and one for tests, in this process or divided among `native_processes` others.

    Args:
        parts: the number of batches that the copies of training are divided into, each with its own processes.

    Raises:
        MusterError: the processes would take more memory than is available.
    """
    of = {mode: range(copies_of(args, mode)) for mode in MODES}
    processes = min(args.native_processes, args.batch_size_run)
    threads = partial(threads_of, args, args.env_threads) if takes_threads(args.env) else _not_taken
    if processes > 1:
        _require_memory(args, processes, "Choose a smaller native_processes.")
        make = {mode: _split(args, mode, processes, args.worker_timeout, of[mode], threads) for mode in MODES}
    else:
        make = {mode: _whole(args, mode, of[mode], threads) for mode in MODES}
    if parts > 1:
        make[False] = _in_parts(args, parts, processes, threads)
    return TrainAndTest(make, args.separate_test_env)


def _not_taken(copies: int, processes: int = 1) -> None:
    """For an environment that takes no number of threads."""


def _in_parts(args: SimpleNamespace, parts: int, processes: int, threads: Callable) -> Callable[[int], InParts]:
    """A factory of the batches of training, which share the processes."""
    makes, sizes = [], []
    for indices, own in zip(_shares(range(args.batch_size_run), parts), _shares(range(processes), parts), strict=True):
        if processes > 1:
            makes.append(_split(args, False, len(own), args.worker_timeout, indices, threads))
        else:
            makes.append(_whole(args, False, indices, threads))
        sizes.append(len(indices))
    return lambda recreated: InParts([make(recreated) for make in makes], sizes)


def _whole(
    args: SimpleNamespace, test_mode: bool, indices: Sequence[int], threads: Callable
) -> Callable[[int], NativeEnv]:
    """A factory of the copies `indices` as a batch in this process; `factory(k)` makes its k-th re-creation."""
    batch = batched_environment_factory(args, test_mode, indices, threads(len(indices)))
    return lambda recreated: NativeEnv(batch(recreated), len(indices))


def _shares(indices: Sequence[int], count: int) -> list[list[int]]:
    return [part.tolist() for part in np.array_split(np.asarray(indices), count)]


def _split(
    args: SimpleNamespace, test_mode: bool, processes: int, timeout: float, indices: Sequence[int], threads: Callable
) -> Callable[[int], SplitEnv]:
    """A factory of the copies `indices`, divided as evenly as possible; `factory(k)` makes its k-th re-creation."""
    parts = _shares(indices, min(processes, len(indices)))
    each = threads(len(parts[0]), len(parts))
    factories = [batched_environment_factory(args, test_mode, part, each) for part in parts]
    seed = args.env_args.get("seed")

    def make(recreated: int) -> SplitEnv:
        entropy = None if seed is None else [int(seed) % 2**64, int(test_mode), recreated]
        these = [partial(factory, recreated) for factory in factories]
        return SplitEnv(these, [len(part) for part in parts], timeout, entropy, indices[0])

    return make


def in_process(args: SimpleNamespace) -> VectorEnv:
    """In this process."""
    make = {mode: [environment_factory(args, b, mode) for b in range(copies_of(args, mode))] for mode in MODES}
    return TrainAndTest(
        {
            mode: lambda recreated, mode=mode: InProcessEnv([lambda one=one: one(recreated) for one in make[mode]])
            for mode in MODES
        },
        args.separate_test_env,
    )


def workers(args: SimpleNamespace) -> VectorEnv:
    """In processes of `envs_per_worker` environments each.

    Raises:
        MusterError: the processes would take more memory than is available.
    """
    processes = -(-args.batch_size_run // args.envs_per_worker)
    _require_memory(args, processes, "Choose a smaller batch_size_run or a larger envs_per_worker.")
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


def _require_memory(args: SimpleNamespace, processes: int, remedy: str) -> None:
    require_memory(
        f"batch_size_run={args.batch_size_run} ({processes} environment processes)",
        processes * PROCESS_BYTES,
        available_memory(),
        remedy,
    )
