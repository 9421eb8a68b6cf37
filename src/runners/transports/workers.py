"""What transports share: environments in worker processes, as one batched environment."""

import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from runners.transports.arrays import StepArrays
from runners.transports.process import Channel, EnvironmentWorkerError, WorkerProcess
from runners.transports.worker import CLOSE_TIMEOUT, WorkerPort


class WorkerTransport:
    """Environments in other processes; for a runner, one batched environment (`envs.batched`).

    A subclass says what a worker's end looks like (`_connect`), where the arrays lie (`_allocate`), and how actions go
    out (`_send_actions`) and answers come back (`_receive`).

    Args:
        factories: for each environment, {test_mode: factory}; a worker makes each at most once, when needed.
        envs_per_worker: environments of one process; the last process may have fewer.
        separate_test_env: whether tests play on environments of their own.

    Raises:
        EnvironmentWorkerError: an environment raised, or its process died; any method may raise it.
    """

    def __init__(self, factories: Sequence[dict[bool, Callable]], envs_per_worker: int, separate_test_env: bool):
        self._factories = factories
        self._separate_test_env = separate_test_env
        self._everyone = list(range(len(factories)))
        self._test_mode = False
        self._playing = np.zeros(len(factories), dtype=bool)
        # workers with an environment that plays
        self._busy: list[WorkerProcess] = []
        self._infos: list[dict] = [{} for _ in factories]
        self.workers: list[WorkerProcess] = []
        try:
            for first in range(0, len(factories), envs_per_worker):
                self.workers.append(self._start(self._everyone[first : first + envs_per_worker]))
            self.env_info = self._ask([0], "get_env_info")[0]
            self.n_agents, self.episode_limit = self.env_info["n_agents"], self.env_info["episode_limit"]
            self._arrays = self._allocate(self.env_info)
            self._ask(self._everyone, "prepare", self.env_info)
        except BaseException:
            self.close()
            raise

    def _connect(self, indices: list[int]) -> tuple[Channel, WorkerPort]:
        """Our end and the other end of a transport to the environments `indices`."""
        raise NotImplementedError(f"{type(self).__name__} does not say how it connects")

    def _allocate(self, env_info: dict[str, Any]) -> StepArrays:
        """Arrays for all environments."""
        raise NotImplementedError(f"{type(self).__name__} does not say where its arrays are")

    def _send_actions(self, actions: np.ndarray) -> None:
        """Let every busy worker step those of its environments that play."""
        raise NotImplementedError(f"{type(self).__name__} does not say how it sends actions")

    def _receive(self, worker: WorkerProcess) -> tuple[dict[int, Any], dict[int, str]]:
        """Wait for a worker's answer, see that what it observed is in the arrays; its answers and its faults."""
        raise NotImplementedError(f"{type(self).__name__} does not say how it receives")

    def play(self, test_mode: bool) -> "WorkerTransport":
        """Let the next episodes be tests, or training; returns the transport."""
        self._test_mode = test_mode
        return self

    def reset(self, which: np.ndarray | None = None) -> None:
        """Begin an episode in the environments `which` (bool `[B]`; None: all)."""
        indices = self._everyone if which is None else np.flatnonzero(which).tolist()
        self._ask(indices, "reset", self._test_mode)
        self._playing[indices] = True
        self._note_busy()

    def step(self, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """See `BatchedEnv.step`."""
        self._send_actions(actions)
        # only environments whose episode has ended have something to say
        infos = self._collect(self._busy, "step")
        if infos:
            for index, info in infos.items():
                self._infos[index] = info
                self._playing[index] = False
            self._note_busy()
        return self._arrays.reward, self._arrays.terminated, self._arrays.truncated

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
        answer = self._ask([0], "show", name)[0]
        if "refusal" in answer:
            raise NotImplementedError(answer["refusal"])
        if self._playing[0]:
            self._infos[0] = answer["info"]
        return answer["shown"]

    def save_replay(self) -> None:
        """Let the first environment save its replay."""
        for refusal in self._ask([0], "save_replay").values():
            raise NotImplementedError(refusal)

    def close(self) -> None:
        """Close every environment and end every process, at the latest after `CLOSE_TIMEOUT`; may be called twice."""
        for worker in self.workers:
            worker.dismiss()
        deadline = time.monotonic() + CLOSE_TIMEOUT
        for worker in self.workers:
            worker.end(max(0.0, deadline - time.monotonic()))
        self.workers, self._busy = [], []

    def _start(self, indices: list[int]) -> WorkerProcess:
        channel, port = self._connect(indices)
        factories = {index: self._factories[index] for index in indices}
        return WorkerProcess(channel, port, factories, self._separate_test_env)

    def _note_busy(self) -> None:
        self._busy = [worker for worker in self.workers if self._playing[worker.rows].any()]

    def _ask(self, indices: list[int], command: str, argument: Any = None) -> dict[int, Any]:
        """What the environments `indices` answer to `command`, if they have an answer."""
        asked = [worker for worker in self.workers if not set(worker.indices).isdisjoint(indices)]
        for worker in asked:
            self._send(worker, (command, [index for index in worker.indices if index in indices], argument))
        return self._collect(asked, command)

    def _send(self, worker: WorkerProcess, message: tuple) -> None:
        try:
            worker.channel.send(message)
        except ConnectionError:
            raise worker.death(message[0]) from None

    def _collect(self, workers: Iterable[WorkerProcess], command: str) -> dict[int, Any]:
        collected: dict[int, Any] = {}
        for worker in workers:
            try:
                answers, faults = self._receive(worker)
            except (EOFError, ConnectionError):
                raise worker.death(command) from None
            for index, fault in faults.items():
                raise EnvironmentWorkerError(f"Environment {index} failed in {command}():\n\n{fault}")
            collected.update(answers)
        return collected
