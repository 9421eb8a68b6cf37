"""A worker as the trainer sees it: the process, and the pipes to it."""

import contextlib
import multiprocessing
import os
import signal
from collections.abc import Iterator
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection
from multiprocessing.reduction import ForkingPickler
from typing import Any

from runners.transports.worker import CLOSE_TIMEOUT, CloudpickleWrapper, WorkerPort, env_worker
from utils.errors import MusterError

# spawn: a forked copy of a process with torch's threads may hang, and would keep its siblings' pipes open
CONTEXT = multiprocessing.get_context("spawn")
BELL, MESSAGE = b"b", b"m"


class EnvironmentWorkerError(MusterError):
    """An environment or its process raised or died; the message has its number and its own traceback."""


class Channel:
    """One end of two one-way pipes, for pickled messages. A dead other end is an EOFError or a ConnectionError."""

    def __init__(self, reader: Connection, writer: Connection):
        self._reader, self._writer = reader, writer

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

    def close(self) -> None:
        self._reader.close()
        self._writer.close()


class BellChannel(Channel):
    """Carries a bell, too: a single byte that wakes the other end, which then finds everything in shared memory."""

    def ring(self) -> None:
        os.write(self._writer.fileno(), BELL)

    def send(self, message: Any) -> None:
        # pickled first: what cannot be pickled must not leave half a message behind
        pickled = ForkingPickler.dumps(message)
        os.write(self._writer.fileno(), MESSAGE)
        self._writer.send_bytes(pickled)

    def receive(self) -> Any:
        """The next message, or None for the bell; sleeps until there is one."""
        first = os.read(self._reader.fileno(), 1)
        if not first:
            raise EOFError("the other end is closed")
        return None if first == BELL else self._reader.recv()


class WorkerProcess:
    """The process of the environments `indices`, started.

    Args:
        channel: our end of its pipes.
        port: its end of the transport, which is sent to it.
        factories: for each of its environments, {test_mode: factory}.
        separate_test_env: whether tests play on environments of their own.
    """

    def __init__(
        self, channel: Channel, port: WorkerPort, factories: dict[int, dict[bool, Any]], separate_test_env: bool
    ):
        self.indices = list(factories)
        self.rows = slice(self.indices[0], self.indices[-1] + 1)
        self.channel = channel
        numbers = "-".join(str(index) for index in dict.fromkeys((self.indices[0], self.indices[-1])))
        self.process = CONTEXT.Process(
            target=env_worker,
            args=(port, CloudpickleWrapper(factories), separate_test_env),
            name=f"env-{numbers}",
            daemon=True,
        )
        with _interrupts_held():
            self.process.start()
        # with our copies closed, the end of the worker is the end of the pipe
        port.close()

    def death(self, command: str) -> EnvironmentWorkerError:
        """What to raise if the pipe has ended while it was doing `command`."""
        process = self.process
        process.join(timeout=1)
        code = process.exitcode
        how = f"killed by {signal.Signals(-code).name}" if code is not None and code < 0 else f"exit code {code}"
        first, last = self.indices[0], self.indices[-1]
        whose = f"Environment {first}'s process" if first == last else f"The process of environments {first} to {last}"
        return EnvironmentWorkerError(
            f"{whose} (pid {process.pid}) died in {command}(): {how}. "
            "It left no traceback; look for its own output above, and for the system's out-of-memory log."
        )

    def dismiss(self) -> None:
        """Tell it to close its environments and to end."""
        with contextlib.suppress(OSError, ValueError):
            self.channel.send(("close", [], None))
        # a worker that waits in the middle of a message, or cannot get its own away, is woken by the end of the pipe
        self.channel.close()

    def end(self, seconds: float = CLOSE_TIMEOUT) -> None:
        """Wait for its end for so many seconds, then end it."""
        process = self.process
        process.join(timeout=seconds)
        if process.is_alive():
            process.terminate()
            process.join(timeout=1)
        if process.is_alive():
            process.kill()
            process.join()


@contextlib.contextmanager
def _interrupts_held() -> Iterator[None]:
    """Hold back Ctrl-C, also in processes started meanwhile, which would print a traceback while still importing."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    # spawn starts this process at the first need, and lets Ctrl-C through while doing so
    resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
