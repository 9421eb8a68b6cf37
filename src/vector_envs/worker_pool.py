"""The processes of all environments of a run, and requests to them."""

import contextlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from multiprocessing import util
from typing import Any

from utils.errors import MusterError
from vector_envs.faults import EnvironmentWorkerError, Failure, Fault, FaultPolicy
from vector_envs.process import Channel, WorkerProcess, close_all, collected
from vector_envs.restart_counts import RestartCounts
from vector_envs.worker import CloudpickleWrapper, WorkerPort, env_worker


class WorkerPool(ABC):
    """Starts the processes, sends commands to environments and collects their answers and faults.

    Args: those of `workers.WorkerTransport`.

    Attributes:
        workers: the processes, in the order of their environments.
        all_indices: numbers of all environments.
        counts: of restarts.
    """

    def __init__(
        self,
        factories: Sequence[dict[bool, Callable]],
        envs_per_worker: int,
        separate_test_env: bool,
        faults: FaultPolicy | None,
        seed: int | None,
    ):
        self._factories, self._policy = factories, faults or FaultPolicy()
        self._envs_per_worker = envs_per_worker
        self.separate_test_env = separate_test_env
        self._modes = (False, True) if separate_test_env else (False,)
        self.all_indices = list(range(len(factories)))
        self.counts = RestartCounts(len(factories), envs_per_worker, seed)
        # some answers to sent commands are outstanding
        self._interrupted = False
        self.workers: list[WorkerProcess] = []
        # also at the interpreter's exit, which waits for its children: workers ignore its SIGTERM
        self._close_workers = util.Finalize(self, close_all, args=(self.workers,), exitpriority=10)

    @abstractmethod
    def _connect(self, indices: list[int]) -> tuple[Channel, WorkerPort]:
        """Our end and the other end of a transport to the environments `indices`."""

    @abstractmethod
    def _receive(self, worker: WorkerProcess) -> tuple[dict[int, Any], dict[int, Failure]]:
        """Wait for a worker, and for its observations in the arrays; returns its answers and its failures."""

    def ask(self, indices: list[int], command: str, argument: Any = None) -> dict[int, Any]:
        """The answers of the environments `indices` to `command`, of those that have one; nothing is re-created."""
        answers, faults = self._ask(indices, command, argument)
        for fault in faults:
            raise EnvironmentWorkerError(fault.text)
        return answers

    def close(self) -> None:
        """Close every environment and end every process, at the latest after `CLOSE_TIMEOUT`; may be called twice."""
        self._close_workers()

    def _start_all(self) -> None:
        for first in self.counts.starts:
            self.workers.append(self._start(self.all_indices[first : first + self._envs_per_worker]))

    def _start(self, indices: list[int]) -> WorkerProcess:
        factories = {index: self._factories[index] for index in indices}
        recreated = {index: self.counts.recreated[index] for index in indices}
        entropy = self.counts.entropy(indices[0])
        try:
            channel, port = self._connect(indices)
            arguments = (CloudpickleWrapper(factories), recreated, self.separate_test_env, entropy)
            return WorkerProcess(channel, port, indices, env_worker, arguments)
        except OSError as error:  # no more processes, or no more open files (ulimit -u, ulimit -n)
            raise MusterError(
                f"The process of environment {indices[0]} cannot be started, after {len(self.workers)} others: "
                f"{error.strerror}. Choose a smaller batch_size_run or a larger envs_per_worker."
            ) from error

    def _ask(self, indices: list[int], command: str, argument: Any = None) -> tuple[dict[int, Any], list[Fault]]:
        asked = [worker for worker in self.workers if not set(worker.indices).isdisjoint(indices)]
        # lost before, in a call that does not recover, such as a checkpoint's
        lost = [worker.lost for worker in asked if worker.lost]
        asked = [worker for worker in asked if not worker.lost]
        self._interrupted = True
        for worker in asked:
            with contextlib.suppress(OSError):
                worker.channel.send((command, [index for index in worker.indices if index in indices], argument))
        answers, faults = self._collect(asked, command)
        return answers, [*lost, *faults]

    def _collect(self, workers: list[WorkerProcess], command: str) -> tuple[dict[int, Any], list[Fault]]:
        answers, faults = collected(workers, command, self._policy.timeout, self._receive)
        self._interrupted = False
        return answers, faults
