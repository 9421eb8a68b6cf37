"""Environments in worker processes, as one source of environments: the common part of all transports."""

import contextlib
import logging
from abc import abstractmethod
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from envs.contract.declarations import checked_spec
from envs.contract.fields import EnvSpec
from vector_envs.contract import Copies, StepOutcome, VectorEnv
from vector_envs.faults import EnvironmentWorkerError, Fault, FaultPolicy
from vector_envs.process import WorkerProcess
from vector_envs.sides import Side
from vector_envs.step_arrays import StepArrays
from vector_envs.worker_pool import WorkerPool

log = logging.getLogger("muster")


class WorkerTransport(WorkerPool, VectorEnv, Copies):
    """Environments in other processes: their episodes, their faults, and their replacement.

    An environment that fails in `reset` or `step` is re-created if `faults` allows it: after a `reset` its episode has
    started; after a `step` its episode is lost.

    Args:
        factories: for each environment, {test_mode: factory}; a worker makes each when needed. `factory()` makes the
            environment, `factory(k)` its k-th re-creation.
        envs_per_worker: environments of one process; the last process may have fewer.
        separate_test_env: whether tests play on separate environments.
        faults: the response to failures of environments and processes.
        seed: of the global random generators of the processes (`worker.seed_generators`); None: none.

    Raises:
        MusterError: its sizes are invalid or do not fit, or a process cannot be started.
        EnvironmentWorkerError: an environment raised, or its process died or hung, and it was not re-created; any
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
        super().__init__(factories, envs_per_worker, separate_test_env, faults, seed)
        # arguments of the environments that have changed, with their values
        self._live: dict[str, Any] = {}
        # whether the environments of tests play now, not those of training
        self._mode = False
        try:
            self._start_all()
            self.counts.made[0][False] = True
            count = len(factories)
            self.spec: EnvSpec = checked_spec(self.ask([0], "announced")[0], count)
            self._sides = {mode: Side.of(arrays, count) for mode, arrays in self._allocate(self.spec).items()}
            self._side = self._sides[False]
            self.ask(self.all_indices, "prepare", self.spec)
        except BaseException:
            self.close()
            raise

    @abstractmethod
    def _allocate(self, spec: EnvSpec) -> dict[bool, StepArrays]:
        """Arrays for all environments, by mode."""

    @abstractmethod
    def _put_actions(self, actions: Mapping[str, np.ndarray]) -> None:
        """Prepare these actions for the workers."""

    @abstractmethod
    def _send_step(self, worker: WorkerProcess) -> None:
        """Let a worker step those of its environments that play."""

    @property
    def restarts(self) -> int:  # type: ignore[override]
        return self.counts.restarts

    def play(self, test_mode: bool) -> "WorkerTransport":
        """Switch to the environments of tests, or to those of training; returns the transport."""
        self._mode = test_mode and self.separate_test_env
        self._side = self._sides[self._mode]
        return self

    def reset(self, which: np.ndarray | None = None) -> None:
        side = self._side
        indices = self.all_indices if which is None else np.flatnonzero(which).tolist()
        side.playing[indices] = False
        waiting = indices
        while waiting:
            for index in waiting:
                self.counts.made[index][self._mode] = True
            _, faults = self._ask(waiting, "reset", self._mode)
            recreated = self._recover(faults)
            waiting = [index for index in indices if index in recreated]
        side.begun[indices], side.playing[indices], side.lost[indices] = True, True, False
        side.note_busy(self.workers)

    def take_live(self, name: str, value: Any) -> None:
        self._live[name] = value
        self._recover(self._ask(self.all_indices, "take_live", {name: value})[1])

    def step(self, actions: Mapping[str, np.ndarray]) -> StepOutcome:
        side = self._side
        busy = side.busy
        self._put_actions(actions)
        self._interrupted = True
        for worker in busy:
            with contextlib.suppress(OSError):  # it has died; waiting for its answer reports that
                self._send_step(worker)
        # only environments whose episode has ended answer
        infos, faults = self._collect(busy, "step")
        for index, info in infos.items():
            side.infos[index] = info
            side.playing[index] = False
        if faults:
            self._recover(faults)
        proven = self.counts.proven
        if len(proven) < len(self.counts.starts):
            proven.update(worker.indices[0] for worker in busy)
        if infos or faults:
            side.note_busy(self.workers)
        lost = side.lost
        if np.count_nonzero(lost):  # a tenth of the time of any()
            side.lost = np.zeros_like(lost)
        return StepOutcome(side.arrays.outcomes, side.arrays.terminated, side.arrays.truncated, lost)

    def observed(self) -> Mapping[str, np.ndarray]:
        return self._side.arrays.shown

    def info(self, b: int) -> dict[str, Any]:
        """The info of the last step of environment b's last whole episode."""
        return self._side.infos[b]

    def snapshot(self) -> dict[str, Any]:
        """The first environment's; `info` then returns its info of the same step."""
        return self._shown("snapshot")

    def scene(self) -> dict[str, Any]:
        return self._shown("scene")

    def action_names(self) -> list[list[str]] | None:
        return self._shown("action_names")

    def _shown(self, name: str) -> Any:
        answer = self.ask([0], "show", (name, self._mode))[0]
        if "refusal" in answer:
            raise NotImplementedError(answer["refusal"])
        if self._side.playing[0]:
            self._side.infos[0] = answer["info"]
        return answer["shown"]

    def save_replay(self) -> None:
        for refusal in self.ask([0], "save_replay").values():
            raise NotImplementedError(refusal)

    def state_dict(self) -> dict[str, Any]:
        """Everything that future episodes depend on; it raises nothing, even after failures.

        An environment that cannot be saved or does not answer any more has None as its state; the rest is in
        `RestartCounts.state_dict`; besides, which environments have started an episode, and which are in one.
        """
        states: dict[int, Any] = {}
        generators: dict[int, Any] = {}
        for worker in [] if self._interrupted else list(self.workers):
            for index in worker.indices:
                states[index] = self._answer(worker, index, "state_dict") or {}
            generators[worker.indices[0]] = self._answer(worker, worker.indices[0], "generators_state")
        side, test = self._sides[False], self._sides.get(True)
        moments = {"begun": side.begun.tolist(), "playing": side.playing.tolist()}
        if test is not None:
            moments |= {"test_begun": test.begun.tolist(), "test_playing": test.playing.tolist()}
        return {**self.counts.state_dict(states, generators), **moments}

    def _answer(self, worker: WorkerProcess, index: int, command: str) -> Any:
        """The answer, or None."""
        if worker.lost:
            return None
        try:
            return self.ask([index], command).get(index)
        except EnvironmentWorkerError as error:
            log.warning(f"The state of environment {index} is not saved; a resumed run re-creates it. {error}")
            return None

    def load_state_dict(self, state: dict[str, Any]) -> bool:
        """Resume from where `state_dict` was taken, by this or another transport of as many environments.

        Raises:
            MusterError: the state of another number of environments.
            EnvironmentWorkerError: an environment rejects its state.
        """
        for index, mode, recreated, own in self.counts.restored(state, self.separate_test_env):
            self.ask([index], "load_state_dict", (mode, recreated, own))
        for first, generators in self.counts.restored_processes(state):
            if generators is not None:
                self.ask([first], "load_generators_state", generators)
            elif (entropy := self.counts.entropy(first)) is not None:
                self.ask([first], "seed_generators", entropy)
        made = np.array([[modes[mode] for mode in (False, True)] for modes in self.counts.made])
        continued = bool(made[:, 0].all())
        for side in self._sides.values():
            side.playing[:] = False
        if continued:
            self._resume_side(False, np.array(state["begun"]), np.array(state["playing"]))
        # checkpoints from before it was kept have no "test_begun"; what could not be saved starts with a reset
        if self.separate_test_env and "test_begun" in state:
            begun, playing = (made[:, 1] & np.array(state[f"test_{key}"]) for key in ("begun", "playing"))
            self._resume_side(True, begun, playing)
        self.play(False)
        self._side.note_busy(self.workers)
        return continued

    def _resume_side(self, mode: bool, begun: np.ndarray, playing: np.ndarray) -> None:
        side = self.play(mode)._side
        side.begun[:], side.playing[:] = begun, playing
        if shown := np.flatnonzero(begun).tolist():
            self.ask(shown, "observe", mode)
        side.note_busy(self.workers)

    def _recover(self, faults: list[Fault]) -> set[int]:
        """Re-create failed environments and processes; their unfinished episodes are lost.

        Returns:
            the environments that were re-created.

        Raises:
            EnvironmentWorkerError: they must not be re-created, or were too often.
        """
        counts = self.counts
        for fault in faults:
            counts.broken.update((index, self._mode) for index in fault.indices)
        recreated: set[int] = set()
        waiting = deque(faults)
        while waiting:
            fault = waiting.popleft()
            # an environment that raises before it ever worked was given something wrong, and would raise again
            hopeless = fault.index is not None and fault.hosted[0] not in counts.proven
            if hopeless or fault.incurable or not self._policy.restart:
                raise EnvironmentWorkerError(fault.text)
            if counts.restarts >= self._policy.max_restarts:
                raise fault.beyond(self._policy.max_restarts)
            counts.restarts += 1
            log.warning(fault.warning(counts.restarts, self._policy.max_restarts))
            recreated.update(fault.indices)
            waiting += self._replace(fault)
            counts.broken.difference_update((index, self._mode) for index in fault.indices)
        return recreated

    def _replace(self, fault: Fault) -> list[Fault]:
        """Restart a process, or schedule an environment's re-creation for its next reset; returns new faults."""
        counts = self.counts
        worker = next(worker for worker in self.workers if worker.indices == fault.hosted)
        self._note_lost(fault)
        if fault.index is not None:
            counts.recreated[fault.index][self._mode] += 1
            argument = (self._mode, counts.recreated[fault.index][self._mode])
            return [] if worker.lost else self._ask([fault.index], "discard", argument)[1]
        counts.process_lost(worker.indices)
        self.workers[self.workers.index(worker)] = self._start(worker.indices)
        faults = self._ask(worker.indices, "prepare", self.spec)[1]
        if self._live and not faults:
            faults = self._ask(worker.indices, "take_live", self._live)[1]
        return faults

    def _note_lost(self, fault: Fault) -> None:
        """Note that its environments have failed: those that play now, or all of a process that is lost."""
        if fault.index is not None:
            self._side.note_lost(fault.indices)
            return
        for side in self._sides.values():
            side.note_lost(fault.indices)
            side.busy = [worker for worker in side.busy if worker.indices != fault.indices]
