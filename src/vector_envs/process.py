"""A worker as the trainer sees it: the process, and the pipes to it."""

import contextlib
import math
import os
import select
import time
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection
from multiprocessing.reduction import ForkingPickler
from typing import Any, Self

from utils.processes.child_process import CLOSE_TIMEOUT, CONTEXT, ChildProcess
from utils.processes.stopping import give_up_late_step
from vector_envs.faults import Failure, Fault
from vector_envs.worker import WorkerPort

MESSAGE, BELLS = b"m", (b"b", b"t")
# seconds between two looks, while a step is waited for, whether to stop
LOOK = 0.5
# commands that are part of playing
PLAYED = ("step", "reset")
# the first commands of a process, which imports everything before it answers, and the least timeout for them
AFTER_START, START_TIMEOUT = ("announced", "prepare"), 60.0


class Channel:
    """One end of two one-way pipes, for pickled messages. A dead other end is an EOFError or an OSError."""

    def __init__(self, reader: Connection, writer: Connection):
        self._reader, self._writer = reader, writer
        # made once: waiting is part of every step
        self._poll: Any = None

    @classmethod
    def pair(cls) -> tuple[Self, Self]:
        """Two ends that belong together."""
        our_reader, their_writer = CONTEXT.Pipe(duplex=False)
        their_reader, our_writer = CONTEXT.Pipe(duplex=False)
        return cls(our_reader, our_writer), cls(their_reader, their_writer)

    def send(self, message: Any) -> None:
        self._writer.send(message)

    def receive(self) -> Any:
        return self._reader.recv()

    def wait(self, seconds: float) -> bool:
        """Wait for a message or the closing of the other end. Returns whether either came within `seconds`."""
        if self._poll is None:
            if not hasattr(select, "poll"):
                return self._reader.poll(seconds)
            waiting = select.poll()
            waiting.register(self._reader.fileno(), select.POLLIN)
            self._poll = waiting.poll
        return bool(self._poll(seconds * 1000))

    def close(self) -> None:
        self._reader.close()
        self._writer.close()


class BellChannel(Channel):
    """Carries bells, too: a single byte that wakes the other end, which then finds everything in shared memory.

    There are two, which mean what both ends have agreed upon.
    """

    def ring(self, second: bool = False) -> None:
        os.write(self._writer.fileno(), BELLS[second])

    def send(self, message: Any) -> None:
        # pickled first: a failure must not leave half a message behind
        pickled = ForkingPickler.dumps(message)
        os.write(self._writer.fileno(), MESSAGE)
        self._writer.send_bytes(pickled)

    def receive(self) -> Any:
        """The next message, or for a bell whether it was the second one; sleeps until there is something."""
        first = os.read(self._reader.fileno(), 1)
        if not first:
            raise EOFError("the other end is closed")
        return self._reader.recv() if first == MESSAGE else first == BELLS[True]


class WorkerProcess:
    """The process of the environments `indices`, started: `target(port, *arguments)`.

    Args:
        channel: our end of its pipes.
        port: its end of the transport, which is sent to it.
        arguments: picklable.
    """

    def __init__(self, channel: Channel, port: WorkerPort, indices: list[int], target: Callable, arguments: tuple):
        self.indices = indices
        self.rows = slice(indices[0], indices[-1] + 1)
        self.channel = channel
        # the fault that ended its process
        self.lost: Fault | None = None
        numbers = "-".join(str(index) for index in dict.fromkeys((indices[0], indices[-1])))
        self.process = ChildProcess(target, (port, *arguments), f"env-{numbers}")
        # with our copies closed, the end of the worker is the end of the pipe
        port.close()

    def died(self, command: str) -> Fault:
        """The fault of a process whose pipe has ended during `command`; its group is killed."""
        return self._lost(self.process.died(f"{command}()"))

    def hangs(self, command: str, seconds: float) -> Fault:
        """The fault of a process that has not answered `command` within `seconds`; its group is killed."""
        return self._lost(self.process.hangs(f"{command}()", seconds, "worker_timeout"))

    def failed(self, index: int, command: str, failure: Failure) -> Fault:
        """The fault of one of its environments, which raised."""
        where = f"Environment {index} failed in {command}() (in process {self.process.pid}):"
        return Fault(self.indices, f"{where}\n\n{failure.text}", index, failure.incurable)

    def _lost(self, what: str) -> Fault:
        first, last = self.indices[0], self.indices[-1]
        whose = f"Environment {first}'s process" if first == last else f"The process of environments {first} to {last}"
        self.channel.close()
        self.lost = Fault(self.indices, f"{whose} (pid {self.process.pid}) {what}")
        return self.lost

    def dismiss(self) -> None:
        """Ask it to close its environments and to end."""
        with contextlib.suppress(OSError, ValueError):
            self.channel.send(("close", [], None))
        # the end of the pipe wakes a worker that waits in the middle of a message, or cannot send its own
        self.channel.close()

    def end(self, seconds: float = CLOSE_TIMEOUT) -> None:
        """Wait for its end for `seconds`, then kill it."""
        self.process.end(seconds)


def collected(
    workers: Sequence[WorkerProcess],
    command: str,
    timeout: float,
    receive: Callable[[WorkerProcess], tuple[dict[int, Any], dict[int, Failure]]],
) -> tuple[dict[int, Any], list[Fault]]:
    """The answers of all `workers` to a `command` that was sent to them, and their faults.

    Args:
        timeout: seconds without an answer after which a process counts as hung; 0: never.
        receive: waits for a worker; returns its answers and its failures.
    """
    answers: dict[int, Any] = {}
    faults: list[Fault] = []
    if timeout and command in AFTER_START:
        timeout = max(timeout, START_TIMEOUT)
    patience = timeout or math.inf
    for worker in workers:
        if not _answers(worker, patience, played=command in PLAYED):
            faults.append(worker.hangs(command, timeout))
            patience = 0.0  # the others have had the same time
            continue
        try:
            answered, failures = receive(worker)
        except (EOFError, OSError):
            faults.append(worker.died(command))
            continue
        faults += [worker.failed(index, command, failure) for index, failure in failures.items()]
        answers.update(answered)
    return answers, faults


def _answers(worker: WorkerProcess, seconds: float, played: bool) -> bool:
    """Wait for an answer or the worker's end. Returns whether either came within `seconds`.

    Raises:
        StopPlaying: it is an answer to what is `played`, and playing was to stop some seconds ago.
    """
    end = None
    while not worker.channel.wait(min(seconds, LOOK)):
        now = time.monotonic()
        if end is None:
            end = now - LOOK + seconds
        if now >= end:
            return False
        if played:
            give_up_late_step()
        seconds = end - now
    return True


def close_all(workers: list[WorkerProcess]) -> None:
    """End all of them, at the latest after `CLOSE_TIMEOUT`, and forget them."""
    for worker in workers:
        worker.dismiss()
    deadline = time.monotonic() + CLOSE_TIMEOUT
    for worker in workers:
        worker.end(max(0.0, deadline - time.monotonic()))
    workers.clear()
