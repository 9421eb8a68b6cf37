"""A batch of copies whose parts live in processes of their own, as a source of environments."""

import contextlib
import logging
import os
from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate
from multiprocessing import util
from typing import Any

import numpy as np

from envs.contract.fields import EnvSpec
from envs.contract.sizes import checked_spec
from utils.errors import ConfigError, MusterError
from utils.processes.shared_memory import NamelessMemory
from vector_envs.batch_worker import RESET, STEP, BatchPort, batch_worker, memory_size, step_memory, text_of
from vector_envs.contract import StepOutcome
from vector_envs.copies_state import for_parts, of_parts, other_processes
from vector_envs.faults import EnvironmentWorkerError, Failure, Fault
from vector_envs.process import BellChannel, WorkerProcess, close_all, collected
from vector_envs.shared_memory import received
from vector_envs.worker import CloudpickleWrapper

log = logging.getLogger("muster")
# commands after which a copy that raised is in the midst of something
CHANGING = ("step", "reset", "load_state_dict")


class SplitEnv:
    """A batch that is divided among processes, which step at once; otherwise as `native.NativeEnv`.

    Actions, observations and outcomes lie in memory that all share; one byte in a pipe wakes a process, and one
    answers. Nothing that fails is re-created.

    Args:
        factories: for each process, what makes its `BatchedEnv`; picklable, also by cloudpickle.
        sizes: the number of its copies.
        timeout: seconds without an answer after which a process counts as hung; 0: never.
        entropy: the beginning of that of the processes' global random generators (`generators.seed_generators`), which
            the number of the first copy completes; None: as the system seeds them.
        first: the number of the first copy among all of a run.

    Raises:
        MusterError: the environment cannot be made, or its sizes do not fit, or a process cannot be started.
        EnvironmentWorkerError: an environment raised, or a process died or hung; any method may raise it.
    """

    def __init__(
        self,
        factories: Sequence[Callable[[], Any]],
        sizes: Sequence[int],
        timeout: float = 0.0,
        entropy: Sequence[int] | None = None,
        first: int = 0,
    ):
        if os.name != "posix":
            raise ConfigError(
                f"native_processes={len(sizes)} works on Linux and macOS only. Use native_processes=1, or "
                "vector_env=workers with env_transport=pipe."
            )
        self._sizes, self._timeout, self._first, count = list(sizes), timeout, first, sum(sizes)
        # why nothing can be asked any more: what has failed, or was interrupted
        self._fault = ""
        self._memory = NamelessMemory("muster-batch")
        self._workers: list[WorkerProcess] = []
        # also at the interpreter's exit, which waits for its children: workers ignore its SIGTERM
        self._close_workers = util.Finalize(self, close_all, args=(self._workers,), exitpriority=10)
        # of copies whose episode has ended, until their reset
        self._infos: dict[int, dict[str, Any]] = {}
        # the arrays lack what a loaded state shows
        self._unseen = False
        try:
            for factory, size, end in zip(factories, sizes, accumulate(sizes), strict=True):
                self._workers.append(self._start(factory, list(range(end - size, end)), count, entropy))
            self.spec, self.by_copy = self._announced(count)
            self._memory.grow(memory_size(self.spec, count))
            self._arrays, self._which = step_memory(self._memory.map(), self.spec, count)
            self._ask("prepare", self.spec)
        except BaseException:
            self.close()
            raise
        arrays = self._arrays
        nothing_lost = np.zeros(count, dtype=bool)
        self._outcome = StepOutcome(arrays.outcomes, arrays.terminated, arrays.truncated, nothing_lost)

    def _start(
        self, factory: Callable[[], Any], indices: list[int], count: int, entropy: Sequence[int] | None
    ) -> WorkerProcess:
        first = indices[0]
        arguments = (
            CloudpickleWrapper(factory),
            first,
            len(indices),
            None if entropy is None else [*entropy, self._first + first],
        )
        try:
            ours, theirs = BellChannel.pair()
            port = BatchPort(theirs, indices, count, (), self._memory)
            process = BatchProcess(ours, port, indices, batch_worker, arguments)
            process.before = self._first
            return process
        except OSError as error:  # no more processes, or no more open files (ulimit -u, ulimit -n)
            raise MusterError(
                f"Process {len(self._workers) + 1} of native_processes={len(self._sizes)} cannot be started: "
                f"{error.strerror}. Choose a smaller native_processes."
            ) from error

    def _announced(self, count: int) -> tuple[EnvSpec, bool]:
        answers = self._ask("announced")
        for answer in answers:
            if "refusal" in answer:
                raise (ConfigError if answer["config"] else MusterError)(answer["refusal"])
        specs = [checked_spec(answer["said"], count) for answer in answers]
        for worker, spec in zip(self._workers, specs, strict=True):
            if spec.layout(count) != specs[0].layout(count):
                first, last = (self._first + worker.indices[end] for end in (0, -1))
                raise MusterError(
                    f"The batch of environments {first} to {last} announces other fields or "
                    f"sizes than that of environment {self._first}; all copies must have the same. "
                    "Use native_processes=1."
                )
        return specs[0], all(answer["by_copy"] for answer in answers)

    def reset(self, which: np.ndarray | None = None) -> None:
        """See `VectorEnv.reset`."""
        workers = self._workers
        if which is None:
            self._which[:] = True
            self._infos.clear()
        else:
            self._which[:] = which
            workers = [worker for worker in workers if np.count_nonzero(self._which[worker.rows])]
            for b in np.flatnonzero(which).tolist():
                self._infos.pop(b, None)
        self._ring(workers, RESET, "reset")

    def step(self, actions: Mapping[str, np.ndarray]) -> StepOutcome:
        """See `VectorEnv.step`."""
        self._arrays.put_actions(slice(None), actions)
        for infos in self._ring(self._workers, STEP, "step").values():
            self._infos.update(infos)
        return self._outcome

    def observed(self) -> Mapping[str, np.ndarray]:
        """See `VectorEnv.observed`."""
        if self._unseen:
            self._ask("observe")
            self._unseen = False
        return self._arrays.shown

    def info(self, b: int) -> dict[str, Any]:
        """See `VectorEnv.info`."""
        if b in self._infos:
            return self._infos[b]
        worker = next(worker for worker in self._workers if b in worker.indices)
        return self._ask_one(worker, "info", b - worker.indices[0])

    def snapshot(self) -> dict[str, Any]:
        return self._shown("snapshot")

    def scene(self) -> dict[str, Any]:
        return self._shown("scene")

    def action_names(self) -> list[list[str]] | None:
        return self._shown("action_names")

    def save_replay(self) -> Any:
        return self._shown("save_replay")

    def state_dict(self) -> dict[str, Any]:
        """Where the copies are: what a single batch of them would return, if its state has an entry for each copy;
        else the states of all parts.

        Raises:
            NotImplementedError: they cannot be saved, or one of them or a process has failed.
        """
        if self._fault:
            raise NotImplementedError(self._fault)
        try:
            answers = self._ask("state_dict")
        except EnvironmentWorkerError as error:
            log.warning(f"The states of the environments are not saved; a resumed run re-creates them. {error}")
            raise NotImplementedError(str(error)) from error
        for answer in answers:
            if "refusal" in answer:
                raise NotImplementedError(answer["refusal"])
        return of_parts(answers, self._sizes, self.by_copy)

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Resume from where `state_dict` was taken, also in another number of processes if the state has an entry for
        each copy.

        Raises:
            MusterError: it has none, and the copies were divided otherwise; or there were more or fewer of them.
        """
        parts = for_parts(state, self._sizes, self.by_copy, lambda saved: other_processes(saved, self._sizes))
        self._send(self._workers, "load_state_dict", parts)
        self._infos.clear()
        self._unseen = True

    def take_live(self, name: str, value: Any) -> None:
        """See `VectorEnv.take_live`."""
        self._ask("take_live", (name, value))

    def close(self) -> None:
        """Close the environments and end the processes; may be called twice."""
        self._close_workers()
        self._memory.close()

    def _shown(self, name: str) -> Any:
        answer = self._ask_one(self._workers[0], "show", name)
        if "refusal" in answer:
            raise NotImplementedError(answer["refusal"])
        return answer["shown"]

    def _ask(self, command: str, argument: Any = None) -> list[Any]:
        """The answers of all processes to `command`."""
        answers = self._send(self._workers, command, [argument] * len(self._workers))
        return [answers.get(worker.indices[0]) for worker in self._workers]

    def _ask_one(self, worker: WorkerProcess, command: str, argument: Any) -> Any:
        return self._send([worker], command, [argument])[worker.indices[0]]

    def _send(self, workers: list[WorkerProcess], command: str, arguments: list[Any]) -> dict[int, Any]:
        self._begin(command)
        for worker, argument in zip(workers, arguments, strict=True):
            with contextlib.suppress(OSError):  # it has died; waiting for its answer reports that
                worker.channel.send((command, worker.indices[:1], argument))
        return self._collect(workers, command)

    def _ring(self, workers: list[WorkerProcess], bell: bool, command: str) -> dict[int, Any]:
        self._begin(command)
        for worker in workers:
            with contextlib.suppress(OSError):
                worker.channel.ring(bell)
        return self._collect(workers, command)

    def _begin(self, command: str) -> None:
        if self._fault:
            raise EnvironmentWorkerError(self._fault)
        self._fault = f"The environments were interrupted in {command}()."

    def _collect(self, workers: list[WorkerProcess], command: str) -> dict[int, Any]:
        answers, faults = collected(workers, command, self._timeout, received)
        lasting = [fault for fault in faults if fault.index is None or command in CHANGING]
        self._fault = lasting[0].text if lasting else ""
        for fault in faults:
            raise EnvironmentWorkerError(fault.text)
        return answers


class BatchProcess(WorkerProcess):
    """The process of some copies of a batch.

    `before`: the number of copies of the run that precede those of the batch.
    """

    before = 0

    def failed(self, index: int, command: str, failure: Failure) -> Fault:
        """The fault of its batch, which raised."""
        first, last = self.before + self.indices[0], self.before + self.indices[-1]
        which = f"Environment {first}" if first == last else f"The batch of environments {first} to {last}"
        where = f"{which} failed in {command}() (in process {self.process.pid}):"
        return Fault(self.indices, f"{where}\n\n{text_of(failure, first)}", index, failure.incurable)
