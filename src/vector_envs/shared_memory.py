"""Trainer and workers exchange steps in shared memory; pipes only wake, and carry rare messages."""

import mmap
import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from envs.contract.fields import EnvSpec
from utils.errors import ConfigError
from utils.processes.shared_memory import NamelessMemory
from vector_envs.faults import Failure
from vector_envs.process import BellChannel, WorkerProcess
from vector_envs.step_arrays import ALIGNMENT, StepArrays
from vector_envs.workers import WorkerTransport


class SharedMemoryTransport(WorkerTransport):
    """One block of memory has the arrays of all environments; at a step a byte wakes a worker, and a byte answers."""

    def __init__(self, *args: Any, **kwargs: Any):
        if os.name != "posix":
            raise ConfigError("env_transport=shared_memory works on Linux and macOS only. Use env_transport=pipe.")
        self._memory = NamelessMemory("muster-steps")
        super().__init__(*args, **kwargs)

    def _connect(self, indices: list[int]) -> tuple[BellChannel, "SharedMemoryPort"]:
        ours, theirs = BellChannel.pair()
        return ours, SharedMemoryPort(theirs, indices, len(self.all_indices), self._modes, self._memory)

    def _allocate(self, spec: EnvSpec) -> dict[bool, StepArrays]:
        count = len(self.all_indices)
        self._memory.grow(len(self._modes) * (StepArrays.size(spec, count) + _flag_bytes(count)))
        sides = _sides(self._memory.map(), spec, count, self._modes)
        self._playing_there = {mode: playing for mode, (_, playing) in sides.items()}
        return {mode: arrays for mode, (arrays, _) in sides.items()}

    def _put_actions(self, actions: Mapping[str, np.ndarray]) -> None:
        self._side.arrays.put_actions(slice(None), actions)
        self._playing_there[self._mode][...] = self._side.playing

    def _send_step(self, worker: WorkerProcess) -> None:
        worker.channel.ring(self._mode)  # type: ignore[attr-defined]

    def _receive(self, worker: WorkerProcess) -> tuple[dict[int, Any], dict[int, Failure]]:
        answer = worker.channel.receive()
        return ({}, {}) if isinstance(answer, bool) else answer

    def close(self) -> None:
        super().close()
        self._memory.close()


class SharedMemoryPort:
    """The worker's end."""

    def __init__(
        self, channel: BellChannel, indices: list[int], count: int, modes: tuple[bool, ...], memory: NamelessMemory
    ):
        self._channel = channel
        self._indices, self._count, self._modes = indices, count, modes
        self._memory = memory
        self._playing: dict[bool, np.ndarray] = {}

    def receive(self) -> tuple[str, list[int], Any]:
        message = self._channel.receive()
        if not isinstance(message, bool):
            return message
        playing = self._playing[message]
        return "step", [index for row, index in enumerate(self._indices) if playing[row]], message

    def prepare(self, spec: EnvSpec) -> dict[bool, StepArrays]:
        rows = slice(self._indices[0], self._indices[-1] + 1)
        sides = _sides(self._memory.map(), spec, self._count, self._modes)
        self._playing = {mode: playing[rows] for mode, (_, playing) in sides.items()}
        return {mode: arrays.part(rows) for mode, (arrays, _) in sides.items()}

    def answer(self, command: str, indices: list[int], answers: dict[int, Any], faults: dict[int, Failure]) -> None:
        if answers or faults:
            self._channel.send((answers, faults))
        else:
            self._channel.ring()

    def close(self) -> None:
        self._channel.close()


def _flag_bytes(count: int) -> int:
    """Bytes that mark the environments that step, padded to a cache line."""
    return -(-count // ALIGNMENT) * ALIGNMENT


def _sides(
    memory: mmap.mmap, spec: EnvSpec, count: int, modes: tuple[bool, ...]
) -> dict[bool, tuple[StepArrays, np.ndarray]]:
    """For training and for tests: the arrays, and bool `[count]`, the environments that step."""
    sides, start = {}, 0
    for mode in modes:
        playing = np.frombuffer(memory, bool, count=count, offset=start)
        start += _flag_bytes(count)
        sides[mode] = StepArrays.inside(memory, spec, count, start), playing
        start += StepArrays.size(spec, count)
    return sides
