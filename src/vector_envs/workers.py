"""What transports share: environments in worker processes, as one batched environment."""

import contextlib
import logging
import time
from collections import deque
from collections.abc import Callable, Sequence
from multiprocessing import util
from typing import Any

import numpy as np

from envs.sizes import check_sizes
from utils.child_process import CLOSE_TIMEOUT
from utils.errors import MusterError
from vector_envs import state
from vector_envs.faults import EnvironmentWorkerError, Failure, Fault, FaultPolicy
from vector_envs.process import Channel, WorkerProcess
from vector_envs.step_arrays import StepArrays
from vector_envs.worker import WorkerPort

log = logging.getLogger("muster")
# the first commands of a process, which has to import everything before it answers, and seconds it gets at least
AFTER_START, START_TIMEOUT = ("get_env_info", "prepare"), 60.0


class WorkerTransport:
    """Environments in other processes; for a runner, one batched environment (`vector_envs.contract`).

    A subclass says what a worker's end looks like (`_connect`), where the arrays lie (`_allocate`), and how actions go
    out (`_put_actions`, `_send_step`) and answers come back (`_receive`).

    An environment that fails in `reset` or `step` is created anew if `faults` says so: after a `reset` its episode has
    begun; after a `step` its episode is over at once, without a reward, and its number is in `dropped`.

    Args:
        factories: for each environment, {test_mode: factory}; a worker makes each when needed. `factory()` makes the
            environment, `factory(k)` its k-th re-creation.
        envs_per_worker: environments of one process; the last process may have fewer.
        separate_test_env: whether tests play on environments of their own.
        faults: what follows if an environment or its process fails.
        seed: of the global random generators of the processes (`generators.seed_generators`); None: none.

    Raises:
        MusterError: its sizes make no sense or do not fit, or a process cannot be started.
        EnvironmentWorkerError: an environment raised, or its process died or hung, and that was not made good; any
            method may raise it.
    """

    def __init__(
        self,
        factories: Sequence[dict[bool, Callable]],
        envs_per_worker: int,
        separate_test_env: bool,
        faults: FaultPolicy | None = None,
        seed: int | None = None,
    ):
        self._factories = factories
        self._policy = faults or FaultPolicy()
        self._seed = seed
        self.separate_test_env = separate_test_env
        self.everyone = list(range(len(factories)))
        self._test_mode = False
        self._playing = np.zeros(len(factories), dtype=bool)
        # workers with an environment that plays
        self._busy: list[WorkerProcess] = []
        self._infos: list[dict] = [{} for _ in factories]
        # environments whose unfinished episode is lost, since somebody last emptied this list
        self.dropped: list[int] = []
        self.restarts = 0
        # of every environment, {test_mode: ...}: how often it was re-created, and whether it exists
        self.recreated = [{False: 0, True: 0} for _ in factories]
        self.made = [{False: False, True: False} for _ in factories]
        # first environments of processes: how often each process was started anew; those that have stepped once
        self.starts: dict[int, int] = {}
        self._proven: set[int] = set()
        # (environment, test_mode) that have failed and were not re-created
        self.broken: set[tuple[int, bool]] = set()
        # commands have been sent whose answers were not all received
        self.interrupted = False
        self.workers: list[WorkerProcess] = []
        # also at the interpreter's end, which waits for its children: workers do not hear its SIGTERM
        self._close_workers = util.Finalize(self, _close_all, args=(self.workers,), exitpriority=10)
        try:
            for first in range(0, len(factories), envs_per_worker):
                self.starts[first] = 0
                self.workers.append(self._start(self.everyone[first : first + envs_per_worker]))
            self.made[0][False] = True
            self.env_info = self.ask([0], "get_env_info")[0]
            check_sizes(self.env_info, len(factories))
            self.n_agents, self.episode_limit = self.env_info["n_agents"], self.env_info["episode_limit"]
            self._arrays = self._allocate(self.env_info)
            self.ask(self.everyone, "prepare", self.env_info)
        except BaseException:
            self.close()
            raise

    def _connect(self, indices: list[int]) -> tuple[Channel, WorkerPort]:
        """Our end and the other end of a transport to the environments `indices`."""
        raise NotImplementedError(f"{type(self).__name__} does not say how it connects")

    def _allocate(self, env_info: dict[str, Any]) -> StepArrays:
        """Arrays for all environments."""
        raise NotImplementedError(f"{type(self).__name__} does not say where its arrays are")

    def _put_actions(self, actions: np.ndarray) -> None:
        """Make ready what the workers are to be sent of these actions `[B, n]`."""
        raise NotImplementedError(f"{type(self).__name__} does not say how it sends actions")

    def _send_step(self, worker: WorkerProcess) -> None:
        """Let a worker step those of its environments that play."""
        raise NotImplementedError(f"{type(self).__name__} does not say how it lets a worker step")

    def _receive(self, worker: WorkerProcess) -> tuple[dict[int, Any], dict[int, Failure]]:
        """Wait for a worker's answer, see that what it observed is in the arrays; its answers and its faults."""
        raise NotImplementedError(f"{type(self).__name__} does not say how it receives")

    def play(self, test_mode: bool) -> "WorkerTransport":
        """Let the next episodes be tests, or training; returns the transport."""
        self._test_mode = test_mode
        return self

    def reset(self, which: np.ndarray | None = None) -> None:
        """Begin an episode in the environments `which` (bool `[B]`; None: all)."""
        indices = self.everyone if which is None else np.flatnonzero(which).tolist()
        self._playing[indices] = False
        waiting = indices
        while waiting:
            for index in waiting:
                self.made[index][self._mode] = True
            _, faults = self._ask(waiting, "reset", self._test_mode)
            lost = self._make_good(faults)
            waiting = [index for index in indices if index in lost]
        self._playing[indices] = True
        self._note_busy()

    def step(self, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """See `BatchedEnv.step`."""
        arrays = self._arrays
        self._put_actions(actions)
        self.interrupted = True
        for worker in self._busy:
            with contextlib.suppress(OSError):  # it has died, as is found when its answer is awaited
                self._send_step(worker)
        # only environments whose episode has ended have something to say
        infos, faults = self._collect(self._busy, "step")
        if infos:
            for index, info in infos.items():
                self._infos[index] = info
                self._playing[index] = False
        if faults:
            lost = list(self._make_good(faults))
            arrays.reward[lost], arrays.terminated[lost], arrays.truncated[lost] = 0.0, True, False
        if len(self._proven) < len(self.starts):
            self._proven.update(worker.indices[0] for worker in self._busy)
        if infos or faults:
            self._note_busy()
        return arrays.reward, arrays.terminated, arrays.truncated

    def observed(self) -> dict[str, np.ndarray]:
        """See `BatchedEnv.observed`."""
        arrays = self._arrays
        return {"state": arrays.state, "avail_actions": arrays.avail_actions, "obs": arrays.obs}

    def info(self, b: int) -> dict[str, Any]:
        """The info of the last step of environment b's last whole episode."""
        return self._infos[b]

    def get_env_info(self) -> dict[str, Any]:
        """Sizes, as the first environment tells them."""
        return self.env_info

    def snapshot(self) -> dict[str, Any]:
        """The first environment's; its info of the same moment is then what `info` returns."""
        return self._shown("snapshot")

    def scene(self) -> dict[str, Any]:
        """The first environment's."""
        return self._shown("scene")

    def action_names(self) -> list[list[str]] | None:
        """Those of the first environment."""
        return self._shown("action_names")

    def _shown(self, name: str) -> Any:
        answer = self.ask([0], "show", name)[0]
        if "refusal" in answer:
            raise NotImplementedError(answer["refusal"])
        if self._playing[0]:
            self._infos[0] = answer["info"]
        return answer["shown"]

    def save_replay(self) -> None:
        """Let the first environment save its replay."""
        for refusal in self.ask([0], "save_replay").values():
            raise NotImplementedError(refusal)

    def state_dict(self) -> dict[str, Any]:
        """Where all environments are, at the boundary of episodes; see `state.transport_state`."""
        return state.transport_state(self)

    def load_state_dict(self, saved: dict[str, Any]) -> None:
        """Go on from where `state_dict` was taken, by this or another transport of as many environments."""
        state.load_transport_state(self, saved)
        self._playing[:] = False

    def close(self) -> None:
        """Close every environment and end every process, at the latest after `CLOSE_TIMEOUT`; may be called twice."""
        self._close_workers()
        self._busy = []

    def ask(self, indices: list[int], command: str, argument: Any = None) -> dict[int, Any]:
        """What the environments `indices` answer to `command`, if they have an answer; no fault is made good."""
        answers, faults = self._ask(indices, command, argument)
        for fault in faults:
            raise EnvironmentWorkerError(fault.text)
        return answers

    def entropy(self, first: int) -> list[int] | None:
        """Of the global random generators of the process whose first environment is number `first`."""
        return None if self._seed is None else [self._seed, first, self.starts[first]]

    @property
    def _mode(self) -> bool:
        """Which environments play now: those of tests, if there are such, or those of training."""
        return self._test_mode and self.separate_test_env

    def _start(self, indices: list[int]) -> WorkerProcess:
        factories = {index: self._factories[index] for index in indices}
        recreated = {index: self.recreated[index] for index in indices}
        entropy = self.entropy(indices[0])
        try:
            channel, port = self._connect(indices)
            return WorkerProcess(channel, port, factories, recreated, self.separate_test_env, entropy)
        except OSError as error:  # no more processes, or no more open files (ulimit -u, ulimit -n)
            raise MusterError(
                f"The process of environment {indices[0]} cannot be started, after {len(self.workers)} others: "
                f"{error.strerror}. Choose a smaller batch_size_run or a larger envs_per_worker."
            ) from error

    def _note_busy(self) -> None:
        self._busy = [worker for worker in self.workers if self._playing[worker.rows].any()]

    def _ask(self, indices: list[int], command: str, argument: Any = None) -> tuple[dict[int, Any], list[Fault]]:
        asked = [worker for worker in self.workers if not set(worker.indices).isdisjoint(indices)]
        # lost before, where nothing was to be made good, as when a checkpoint asked
        lost = [worker.lost for worker in asked if worker.lost]
        asked = [worker for worker in asked if not worker.lost]
        self.interrupted = True
        for worker in asked:
            with contextlib.suppress(OSError):
                worker.channel.send((command, [index for index in worker.indices if index in indices], argument))
        answers, faults = self._collect(asked, command)
        return answers, [*lost, *faults]

    def _collect(self, workers: list[WorkerProcess], command: str) -> tuple[dict[int, Any], list[Fault]]:
        collected: dict[int, Any] = {}
        faults: list[Fault] = []
        timeout = self._policy.timeout
        if timeout and command in AFTER_START:
            timeout = max(timeout, START_TIMEOUT)
        patience = timeout
        for worker in workers:
            if timeout and not worker.channel.wait(patience):
                faults.append(worker.hangs(command, timeout))
                patience = 0.0  # the others have had as long
                continue
            try:
                answers, failures = self._receive(worker)
            except (EOFError, OSError):
                faults.append(worker.died(command))
                continue
            faults += [worker.failed(index, command, failure) for index, failure in failures.items()]
            collected.update(answers)
        self.interrupted = False
        return collected, faults

    def _make_good(self, faults: list[Fault]) -> set[int]:
        """Create anew what has failed.

        Returns:
            the environments that are new.

        Raises:
            EnvironmentWorkerError: that is not to be done, or was done too often.
        """
        for fault in faults:
            self.broken.update((index, self._mode) for index in fault.indices)
        lost: set[int] = set()
        waiting = deque(faults)
        while waiting:
            fault = waiting.popleft()
            # an environment that raises before it ever worked was given something wrong, and would raise again
            hopeless = fault.index is not None and fault.worker.indices[0] not in self._proven
            if hopeless or fault.incurable or not self._policy.restart:
                raise EnvironmentWorkerError(fault.text)
            if self.restarts >= self._policy.max_restarts:
                raise fault.beyond(self._policy.max_restarts)
            self.restarts += 1
            log.warning(fault.warning(self.restarts, self._policy.max_restarts))
            lost.update(fault.indices)
            waiting += self._replace(fault)
            self.broken.difference_update((index, self._mode) for index in fault.indices)
        unfinished = [index for index in sorted(lost) if self._playing[index]]
        self.dropped += unfinished
        self._playing[unfinished] = False
        return lost

    def _replace(self, fault: Fault) -> list[Fault]:
        """Start a new process, or let the environment be created anew at its next reset; the faults of doing so."""
        if fault.index is not None:
            self.recreated[fault.index][self._mode] += 1
            argument = (self._mode, self.recreated[fault.index][self._mode])
            return [] if fault.worker.lost else self._ask([fault.index], "discard", argument)[1]
        worker = fault.worker
        for index in worker.indices:
            for mode, made in self.made[index].items():
                self.recreated[index][mode] += made
                self.made[index][mode] = False
        self.starts[worker.indices[0]] += 1
        place = self.workers.index(worker)
        self.workers[place] = self._start(worker.indices)
        return self._ask(worker.indices, "prepare", self.env_info)[1]


def _close_all(workers: list[WorkerProcess]) -> None:
    for worker in workers:
        worker.dismiss()
    deadline = time.monotonic() + CLOSE_TIMEOUT
    for worker in workers:
        worker.end(max(0.0, deadline - time.monotonic()))
    workers.clear()
