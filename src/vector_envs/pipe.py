"""Everything is pickled and goes through pipes."""

from typing import Any

import numpy as np

from vector_envs.faults import Failure
from vector_envs.process import Channel, WorkerProcess
from vector_envs.step_arrays import StepArrays
from vector_envs.workers import WorkerTransport

# Commands after which there is something new to see
OBSERVED_AFTER = ("reset", "step")


class PipeTransport(WorkerTransport):
    """A step is one message to each worker with its actions, and one back with all that came of them."""

    def _connect(self, indices: list[int]) -> tuple[Channel, "PipePort"]:
        ours, theirs = Channel.pair()
        return ours, PipePort(theirs, indices)

    def _allocate(self, env_info: dict[str, Any]) -> StepArrays:
        return StepArrays.allocate(env_info, len(self.everyone))

    def _put_actions(self, actions: np.ndarray) -> None:
        self._actions = actions

    def _send_step(self, worker: WorkerProcess) -> None:
        playing = [index for index in worker.indices if self._playing[index]]
        worker.channel.send(("step", playing, self._actions[playing]))

    def _receive(self, worker: WorkerProcess) -> tuple[dict[int, Any], dict[int, Failure]]:
        answers, faults, indices, results = worker.channel.receive()
        if results is not None:
            self._arrays.put_results(indices, results)
        return answers, faults


class PipePort:
    """The worker's end."""

    def __init__(self, channel: Channel, indices: list[int]):
        self._channel = channel
        self._first, self._count = indices[0], len(indices)
        self._arrays: StepArrays | None = None

    def receive(self) -> tuple[str, list[int], Any]:
        command, indices, argument = self._channel.receive()
        if command == "step":
            self._arrays.actions[self._rows(indices)] = argument
        return command, indices, argument

    def prepare(self, env_info: dict[str, Any]) -> StepArrays:
        self._arrays = StepArrays.allocate(env_info, self._count)
        return self._arrays

    def answer(self, command: str, indices: list[int], answers: dict[int, Any], faults: dict[int, Failure]) -> None:
        results = self._arrays.results(self._rows(indices)) if command in OBSERVED_AFTER else None
        self._channel.send((answers, faults, indices, results))

    def close(self) -> None:
        self._channel.close()

    def _rows(self, indices: list[int]) -> list[int]:
        return [index - self._first for index in indices]
