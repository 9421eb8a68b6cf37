"""Environment processes: requests to them, their faults, and their replacement."""

import contextlib
import logging
from collections import deque
from collections.abc import Callable, Sequence
from multiprocessing import util
from typing import Any

from utils.errors import MusterError
from vector_envs.census import Census
from vector_envs.faults import EnvironmentWorkerError, Failure, Fault, FaultPolicy
from vector_envs.process import Channel, WorkerProcess, close_all, collected
from vector_envs.worker import CloudpickleWrapper, WorkerPort, env_worker

log = logging.getLogger("muster")


class WorkerPool:
    """The processes of environments number 0 to B - 1; see `workers.WorkerTransport` for the arguments."""

    def __init__(
        self,
        factories: Sequence[dict[bool, Callable]],
        envs_per_worker: int,
        separate_test_env: bool,
        faults: FaultPolicy | None,
        seed: int | None,
    ):
        self._factories = factories
        self._policy = faults or FaultPolicy()
        self.separate_test_env = separate_test_env
        self.all_indices = list(range(len(factories)))
        self.census = Census(len(factories), envs_per_worker, seed)
        # arguments of the environments that have changed, with their values
        self._live: dict[str, Any] = {}
        # whether the environments of tests play now, not those of training
        self._mode = False
        # some answers to sent commands are outstanding
        self._interrupted = False
        self.workers: list[WorkerProcess] = []
        # also at the interpreter's exit, which waits for its children: workers ignore its SIGTERM
        self._close_workers = util.Finalize(self, close_all, args=(self.workers,), exitpriority=10)
        try:
            for first in self.census.starts:
                self.workers.append(self._start(self.all_indices[first : first + envs_per_worker]))
        except BaseException:
            self.close()
            raise

    def _connect(self, indices: list[int]) -> tuple[Channel, WorkerPort]:
        """Our end and the other end of a transport to the environments `indices`."""
        raise NotImplementedError(f"{type(self).__name__} does not define _connect()")

    def _receive(self, worker: WorkerProcess) -> tuple[dict[int, Any], dict[int, Failure]]:
        """Wait for a worker, and for its observations in the arrays; returns its answers and its failures."""
        raise NotImplementedError(f"{type(self).__name__} does not define _receive()")

    def _note_lost(self, indices: list[int], process: bool) -> None:
        """Note that these environments have failed: those that play now, or with their `process` all of them."""
        raise NotImplementedError(f"{type(self).__name__} does not define _note_lost()")

    def _prepared(self) -> Any:
        """The argument of the command `prepare`, which a process gets before its environments play."""
        raise NotImplementedError(f"{type(self).__name__} does not define _prepared()")

    def close(self) -> None:
        """Close every environment and end every process, at the latest after `CLOSE_TIMEOUT`; may be called twice."""
        self._close_workers()

    def ask(self, indices: list[int], command: str, argument: Any = None) -> dict[int, Any]:
        """The answers of the environments `indices` to `command`, of those that have one; nothing is re-created."""
        answers, faults = self._ask(indices, command, argument)
        for fault in faults:
            raise EnvironmentWorkerError(fault.text)
        return answers

    def _start(self, indices: list[int]) -> WorkerProcess:
        factories = {index: self._factories[index] for index in indices}
        recreated = {index: self.census.recreated[index] for index in indices}
        entropy = self.census.entropy(indices[0])
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

    def _recover(self, faults: list[Fault]) -> set[int]:
        """Re-create failed environments and processes; their unfinished episodes are lost.

        Returns:
            the environments that were re-created.

        Raises:
            EnvironmentWorkerError: they must not be re-created, or were too often.
        """
        census = self.census
        for fault in faults:
            census.broken.update((index, self._mode) for index in fault.indices)
        recreated: set[int] = set()
        waiting = deque(faults)
        while waiting:
            fault = waiting.popleft()
            # an environment that raises before it ever worked was given something wrong, and would raise again
            hopeless = fault.index is not None and fault.hosted[0] not in census.proven
            if hopeless or fault.incurable or not self._policy.restart:
                raise EnvironmentWorkerError(fault.text)
            if census.restarts >= self._policy.max_restarts:
                raise fault.beyond(self._policy.max_restarts)
            census.restarts += 1
            log.warning(fault.warning(census.restarts, self._policy.max_restarts))
            recreated.update(fault.indices)
            waiting += self._replace(fault)
            census.broken.difference_update((index, self._mode) for index in fault.indices)
        return recreated

    def _replace(self, fault: Fault) -> list[Fault]:
        """Restart a process, or schedule an environment's re-creation for its next reset; returns new faults."""
        census = self.census
        worker = next(worker for worker in self.workers if worker.indices == fault.hosted)
        self._note_lost(fault.indices, process=fault.index is None)
        if fault.index is not None:
            census.recreated[fault.index][self._mode] += 1
            argument = (self._mode, census.recreated[fault.index][self._mode])
            return [] if worker.lost else self._ask([fault.index], "discard", argument)[1]
        census.process_lost(worker.indices)
        self.workers[self.workers.index(worker)] = self._start(worker.indices)
        faults = self._ask(worker.indices, "prepare", self._prepared())[1]
        if self._live and not faults:
            faults = self._ask(worker.indices, "take_live", self._live)[1]
        return faults
