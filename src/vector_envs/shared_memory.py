"""Steps are written where trainer and workers both see them; pipes only wake, and carry what is rare."""

import os
from typing import Any

import numpy as np

from utils.errors import ConfigError
from utils.shared_memory import NamelessMemory
from vector_envs.faults import Failure
from vector_envs.process import BellChannel, WorkerProcess
from vector_envs.step_arrays import StepArrays
from vector_envs.workers import WorkerTransport

NOTHING: tuple[dict, dict] = ({}, {})


class SharedMemoryTransport(WorkerTransport):
    """One block of memory has the arrays of all environments; at a step a byte wakes a worker, and a byte answers."""

    def __init__(self, *args: Any, **kwargs: Any):
        if os.name != "posix":
            raise ConfigError("env_transport=shared_memory works on Linux and macOS only. Use env_transport=pipe.")
        self._memory = NamelessMemory("muster-steps")
        super().__init__(*args, **kwargs)

    def _connect(self, indices: list[int]) -> tuple[BellChannel, "SharedMemoryPort"]:
        ours, theirs = BellChannel.pair()
        return ours, SharedMemoryPort(theirs, indices, len(self.everyone), self._memory)

    def _allocate(self, env_info: dict[str, Any]) -> StepArrays:
        self._memory.grow(StepArrays.size(env_info, len(self.everyone)))
        return StepArrays.inside(self._memory.map(), env_info, len(self.everyone))

    def _put_actions(self, actions: np.ndarray) -> None:
        self._arrays.actions[...] = actions
        self._arrays.playing[...] = self._playing

    def _send_step(self, worker: WorkerProcess) -> None:
        worker.channel.ring()

    def _receive(self, worker: WorkerProcess) -> tuple[dict[int, Any], dict[int, Failure]]:
        return worker.channel.receive() or NOTHING

    def close(self) -> None:
        super().close()
        self._memory.close()


class SharedMemoryPort:
    """The worker's end."""

    def __init__(self, channel: BellChannel, indices: list[int], count: int, memory: NamelessMemory):
        self._channel = channel
        self._indices, self._count = indices, count
        self._memory = memory
        self._arrays: StepArrays | None = None

    def receive(self) -> tuple[str, list[int], Any]:
        message = self._channel.receive()
        if message is not None:
            return message
        playing = self._arrays.playing
        return "step", [index for row, index in enumerate(self._indices) if playing[row]], None

    def prepare(self, env_info: dict[str, Any]) -> StepArrays:
        arrays = StepArrays.inside(self._memory.map(), env_info, self._count)
        self._arrays = arrays.part(slice(self._indices[0], self._indices[-1] + 1))
        return self._arrays

    def answer(self, command: str, indices: list[int], answers: dict[int, Any], faults: dict[int, Failure]) -> None:
        if answers or faults:
            self._channel.send((answers, faults))
        else:
            self._channel.ring()

    def close(self) -> None:
        self._channel.close()
