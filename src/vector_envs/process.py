"""A worker as the trainer sees it: the process, and the pipes to it."""

import contextlib
import os
import select
from multiprocessing.connection import Connection
from multiprocessing.reduction import ForkingPickler
from typing import Any

from utils.child_process import CLOSE_TIMEOUT, CONTEXT, ChildProcess
from vector_envs.faults import EnvironmentWorkerError, Failure, Fault
from vector_envs.worker import CloudpickleWrapper, WorkerPort, env_worker

__all__ = ["BellChannel", "Channel", "EnvironmentWorkerError", "WorkerProcess"]

MESSAGE, BELLS = b"m", (b"b", b"t")


class Channel:
    """One end of two one-way pipes, for pickled messages. A dead other end is an EOFError or an OSError."""

    def __init__(self, reader: Connection, writer: Connection):
        self._reader, self._writer = reader, writer
        # made once: waiting is part of every step
        self._poll: Any = None

    @classmethod
    def pair(cls) -> tuple["Channel", "Channel"]:
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
    """Carries bells, too: a single byte that wakes the other end, which then finds everything in shared memory."""

    def ring(self, test_mode: bool = False) -> None:
        os.write(self._writer.fileno(), BELLS[test_mode])

    def send(self, message: Any) -> None:
        # pickled first: a failure must not leave half a message behind
        pickled = ForkingPickler.dumps(message)
        os.write(self._writer.fileno(), MESSAGE)
        self._writer.send_bytes(pickled)

    def receive(self) -> Any:
        """The next message, or for a bell the test_mode that it was rung with; sleeps until there is one."""
        first = os.read(self._reader.fileno(), 1)
        if not first:
            raise EOFError("the other end is closed")
        return self._reader.recv() if first == MESSAGE else first == BELLS[True]


class WorkerProcess:
    """The process of the environments `indices`, started.

    Args:
        channel: our end of its pipes.
        port: its end of the transport, which is sent to it.
        factories: for each of its environments, {test_mode: factory}.
        recreated: for each of its environments, {test_mode: how often it was re-created before}.
        separate_test_env: whether tests play on separate environments.
        entropy: of its global random generators; None: as the system seeds them.
    """

    def __init__(
        self,
        channel: Channel,
        port: WorkerPort,
        factories: dict[int, dict[bool, Any]],
        recreated: dict[int, dict[bool, int]],
        separate_test_env: bool,
        entropy: list[int] | None,
    ):
        self.indices = list(factories)
        self.rows = slice(self.indices[0], self.indices[-1] + 1)
        self.channel = channel
        # the fault that ended its process
        self.lost: Fault | None = None
        numbers = "-".join(str(index) for index in dict.fromkeys((self.indices[0], self.indices[-1])))
        arguments = (port, CloudpickleWrapper(factories), recreated, separate_test_env, entropy)
        self.process = ChildProcess(env_worker, arguments, f"env-{numbers}")
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
