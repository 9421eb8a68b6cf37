"""Environments in worker processes, as one source of environments: the common part of all transports."""

import contextlib
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from envs.contract.declarations import checked_spec
from envs.contract.fields import EnvSpec
from vector_envs.contract import StepOutcome
from vector_envs.faults import EnvironmentWorkerError, FaultPolicy
from vector_envs.process import WorkerProcess
from vector_envs.step_arrays import StepArrays
from vector_envs.worker_pool import WorkerPool

log = logging.getLogger("muster")


@dataclass
class Side:
    """The present state of the environments of training, or of those of tests.

    `begun`: bool `[B]`, has started an episode. `playing`: bool `[B]`, is in one. `lost`: bool `[B]`, an episode has
    become void since the last step. `busy`: the workers with an environment that plays.
    """

    arrays: StepArrays
    infos: list[dict]
    begun: np.ndarray
    playing: np.ndarray
    lost: np.ndarray
    busy: list[WorkerProcess] = field(default_factory=list)


class WorkerTransport(WorkerPool):
    """Environments in other processes, as a `VectorEnv`.

    A subclass makes the worker's end (`_connect`) and the arrays (`_allocate`), sends actions (`_put_actions`,
    `_send_step`) and receives answers (`_receive`).

    An environment that fails in `reset` or `step` is re-created if `faults` allows it: after a `reset` its episode has
    started; after a `step` its episode is lost.

    Args:
        factories: for each environment, {test_mode: factory}; a worker makes each when needed. `factory()` makes the
            environment, `factory(k)` its k-th re-creation.
        envs_per_worker: environments of one process; the last process may have fewer.
        separate_test_env: whether tests play on separate environments.
        faults: the response to failures of environments and processes.
        seed: of the global random generators of the processes (`generators.seed_generators`); None: none.

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
        self._modes = (False, True) if separate_test_env else (False,)
        super().__init__(factories, envs_per_worker, separate_test_env, faults, seed)
        try:
            self.census.made[0][False] = True
            self.spec: EnvSpec = checked_spec(self.ask([0], "announced")[0], len(factories))
            self._sides = {mode: self._new_side(arrays) for mode, arrays in self._allocate(self.spec).items()}
            self._side = self._sides[False]
            self.ask(self.all_indices, "prepare", self.spec)
        except BaseException:
            self.close()
            raise

    @property
    def restarts(self) -> int:
        """How often environments, or their processes, were re-created because they failed."""
        return self.census.restarts

    def _allocate(self, spec: EnvSpec) -> dict[bool, StepArrays]:
        """Arrays for all environments, by mode."""
        raise NotImplementedError(f"{type(self).__name__} does not define _allocate()")

    def _put_actions(self, actions: Mapping[str, np.ndarray]) -> None:
        """Prepare these actions for the workers."""
        raise NotImplementedError(f"{type(self).__name__} does not define _put_actions()")

    def _send_step(self, worker: WorkerProcess) -> None:
        """Let a worker step those of its environments that play."""
        raise NotImplementedError(f"{type(self).__name__} does not define _send_step()")

    def play(self, test_mode: bool) -> "WorkerTransport":
        """Switch to the environments of tests, or to those of training; returns the transport."""
        self._mode = test_mode and self.separate_test_env
        self._side = self._sides[self._mode]
        return self

    def reset(self, which: np.ndarray | None = None) -> None:
        """Start an episode in the environments `which` (bool `[B]`; None: all)."""
        side = self._side
        indices = self.all_indices if which is None else np.flatnonzero(which).tolist()
        side.playing[indices] = False
        waiting = indices
        while waiting:
            for index in waiting:
                self.census.made[index][self._mode] = True
            _, faults = self._ask(waiting, "reset", self._mode)
            recreated = self._recover(faults)
            waiting = [index for index in indices if index in recreated]
        side.begun[indices], side.playing[indices], side.lost[indices] = True, True, False
        self._note_busy(side)

    def take_live(self, name: str, value: Any) -> None:
        """See `VectorEnv.take_live`."""
        self._live[name] = value
        self._recover(self._ask(self.all_indices, "take_live", {name: value})[1])

    def step(self, actions: Mapping[str, np.ndarray]) -> StepOutcome:
        """See `VectorEnv.step`."""
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
        proven = self.census.proven
        if len(proven) < len(self.census.starts):
            proven.update(worker.indices[0] for worker in busy)
        if infos or faults:
            self._note_busy(side)
        lost = side.lost
        if np.count_nonzero(lost):  # a tenth of the time of any()
            side.lost = np.zeros_like(lost)
        return StepOutcome(side.arrays.outcomes, side.arrays.terminated, side.arrays.truncated, lost)

    def observed(self) -> Mapping[str, np.ndarray]:
        """See `VectorEnv.observed`."""
        return self._side.arrays.shown

    def info(self, b: int) -> dict[str, Any]:
        """The info of the last step of environment b's last whole episode."""
        return self._side.infos[b]

    def snapshot(self) -> dict[str, Any]:
        """The first environment's; `info` then returns its info of the same step."""
        return self._shown("snapshot")

    def scene(self) -> dict[str, Any]:
        """The first environment's."""
        return self._shown("scene")

    def action_names(self) -> list[list[str]] | None:
        """Those of the first environment."""
        return self._shown("action_names")

    def _shown(self, name: str) -> Any:
        answer = self.ask([0], "show", (name, self._mode))[0]
        if "refusal" in answer:
            raise NotImplementedError(answer["refusal"])
        if self._side.playing[0]:
            self._side.infos[0] = answer["info"]
        return answer["shown"]

    def save_replay(self) -> None:
        """Save a replay of the first environment."""
        for refusal in self.ask([0], "save_replay").values():
            raise NotImplementedError(refusal)

    def state_dict(self) -> dict[str, Any]:
        """Everything that future episodes depend on; it raises nothing, even after failures.

        An environment that cannot be saved or does not answer any more has None as its state; the rest is in
        `Census.state_dict`; besides, which environments have started an episode, and which are in one.
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
        return {**self.census.state_dict(states, generators), **moments}

    def _answer(self, worker: WorkerProcess, index: int, command: str) -> Any:
        """The answer, or None."""
        if worker.lost:
            return None
        try:
            return self.ask([index], command).get(index)
        except EnvironmentWorkerError as error:
            log.warning(f"The state of environment {index} is not saved; a resumed run re-creates it. {error}")
            return None

    def load_state_dict(self, saved: dict[str, Any]) -> bool:
        """Resume from where `state_dict` was taken, by this or another transport of as many environments.

        Raises:
            MusterError: the state of another number of environments.
            EnvironmentWorkerError: an environment rejects its state.
        """
        for index, mode, recreated, state in self.census.restored(saved, self.separate_test_env):
            self.ask([index], "load_state_dict", (mode, recreated, state))
        for first, generators in self.census.restored_processes(saved):
            if generators is not None:
                self.ask([first], "load_generators_state", generators)
            elif (entropy := self.census.entropy(first)) is not None:
                self.ask([first], "seed_generators", entropy)
        continued = all(modes[False] for modes in self.census.made)
        self.play(False)
        for side in self._sides.values():
            side.playing[:] = False
        if continued:
            self._side.begun[:], self._side.playing[:] = saved["begun"], saved["playing"]
            if begun := np.flatnonzero(self._side.begun).tolist():
                self.ask(begun, "observe", False)
        self._note_busy(self._side)
        self._resume_test(saved)
        return continued

    def _resume_test(self, saved: dict[str, Any]) -> None:
        """Let the environments of tests be where they were; those that could not be saved start with a reset."""
        # of checkpoints from before it was kept
        if not self.separate_test_env or "test_begun" not in saved:
            return
        made = np.array([modes[True] for modes in self.census.made])
        test = self.play(True)._side
        test.begun[:] = made & np.array(saved["test_begun"])
        test.playing[:] = made & np.array(saved["test_playing"])
        if begun := np.flatnonzero(test.begun).tolist():
            self.ask(begun, "observe", True)
        self._note_busy(test)
        self.play(False)

    def _new_side(self, arrays: StepArrays) -> Side:
        count = len(self.all_indices)
        return Side(arrays, [{} for _ in range(count)], *(np.zeros(count, dtype=bool) for _ in range(3)))

    def _note_busy(self, side: Side) -> None:
        side.busy = [worker for worker in self.workers if side.playing[worker.rows].any()]

    def _note_lost(self, indices: list[int], process: bool) -> None:
        for side in self._sides.values() if process else [self._side]:
            unfinished = [index for index in indices if side.playing[index]]
            side.lost[unfinished], side.playing[unfinished] = True, False
            if process:
                side.busy = [worker for worker in side.busy if worker.indices != indices]

    def _prepared(self) -> EnvSpec:
        return self.spec
