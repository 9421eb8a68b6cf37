"""Everything is pickled and goes through pipes."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from envs.contract.fields import EnvSpec
from vector_envs.faults import Failure
from vector_envs.process import Channel, WorkerProcess
from vector_envs.step_arrays import StepArrays, span
from vector_envs.workers import WorkerTransport

# Commands after which there is something new to see
OBSERVED_AFTER = ("reset", "step", "observe")


class PipeTransport(WorkerTransport):
    """A step is one message to each worker with its actions, and one back with all that came of them."""

    def _connect(self, indices: list[int]) -> tuple[Channel, "PipePort"]:
        ours, theirs = Channel.pair()
        return ours, PipePort(theirs, indices, self._modes)

    def _allocate(self, spec: EnvSpec) -> dict[bool, StepArrays]:
        return {mode: StepArrays.allocate(spec, len(self.all_indices)) for mode in self._modes}

    def _put_actions(self, actions: Mapping[str, np.ndarray]) -> None:
        self._actions = actions

    def _send_step(self, worker: WorkerProcess) -> None:
        playing = [index for index in worker.indices if self._side.playing[index]]
        rows = span(playing)
        actions = {path: array[rows] for path, array in self._actions.items()}
        worker.channel.send(("step", playing, (self._mode, actions)))

    def _receive(self, worker: WorkerProcess) -> tuple[dict[int, Any], dict[int, Failure]]:
        answers, faults, indices, results = worker.channel.receive()
        if results is not None:
            self._side.arrays.put_results(indices, results)
        return answers, faults


class PipePort:
    """The worker's end."""

    def __init__(self, channel: Channel, indices: list[int], modes: tuple[bool, ...]):
        self._channel, self._modes = channel, modes
        self._first, self._count = indices[0], len(indices)
        self._arrays: dict[bool, StepArrays] = {}
        self._mode = False

    def receive(self) -> tuple[str, list[int], Any]:
        command, indices, argument = self._channel.receive()
        if command == "step":
            argument, actions = argument
            self._arrays[argument].put_actions(self._rows(indices), actions)
        if command in OBSERVED_AFTER:
            self._mode = argument
        return command, indices, argument

    def prepare(self, spec: EnvSpec) -> dict[bool, StepArrays]:
        self._arrays = {mode: StepArrays.allocate(spec, self._count) for mode in self._modes}
        return self._arrays

    def answer(self, command: str, indices: list[int], answers: dict[int, Any], faults: dict[int, Failure]) -> None:
        seen = command in OBSERVED_AFTER
        results = self._arrays[self._mode].results(self._rows(indices)) if seen else None
        self._channel.send((answers, faults, indices, results))

    def close(self) -> None:
        self._channel.close()

    def _rows(self, indices: list[int]) -> list[int]:
        return [index - self._first for index in indices]
