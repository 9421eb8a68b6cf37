"""An extension of both protocols: whoever gives the turn wakes the other, who sleeps instead of polling a byte.

A trainer that knows it makes two named FIFOs beside the first file, before that file is there:

    <path of the first file>.to_simulator      the simulator reads, the trainer writes
    <path of the first file>.to_trainer        the trainer reads, the simulator writes

The files' bytes do not change: the turn still is the byte that it is without the extension. Whoever has passed it by
that byte then writes one byte (its value says nothing) into the other's FIFO. Who waits sleeps until its FIFO has
bytes, takes them all, and looks at the turn. So a wake-up too many does no harm.

Each finds out by itself whether the other knows it. All open without blocking (O_NONBLOCK), which decides:

    1. The trainer opens `.to_trainer` for reading.
    2. A simulator that finds both FIFOs opens `.to_simulator` for reading, then `.to_trainer` for writing. If that
       fails (ENXIO: nobody reads), the FIFOs are left over from a trainer that has ended, and it polls. It does so
       before it passes its first turn.
    3. The trainer, at the simulator's first turn passed, opens `.to_simulator` for writing. If that fails, the
       simulator does not know the extension, and both sides poll.

A FIFO whose other end has closed says so at once (POLLHUP, EPIPE): the other process has ended. Who polls nevertheless
checks the turn every `CHECK_SECONDS`. The trainer removes the FIFOs when it closes.
"""

import contextlib
import errno
import os
import select
from pathlib import Path

TO_SIMULATOR, TO_TRAINER = ".to_simulator", ".to_trainer"
CHECK_SECONDS = 1.0
_TAKE = 4096


class Wake:
    """One side's two ends. Made by `of_trainer` or `of_simulator`.

    Args:
        read: the descriptor of the end where wake-ups arrive, non-blocking.
        write: the other, or None: not yet.
    """

    def __init__(self, read: int, write: int | None):
        self._read, self._write = read, write
        self._poll = select.poll()
        self._poll.register(read, select.POLLIN)
        # whether the other process has closed its ends
        self.gone = False

    @classmethod
    def of_trainer(cls, path: str | Path) -> "Wake":
        """Make the FIFOs beside a first file that is not there yet.

        Raises:
            OSError: they cannot be made, or exist.
        """
        for end in (TO_SIMULATOR, TO_TRAINER):
            os.mkfifo(f"{path}{end}", 0o600)
        return cls(os.open(f"{path}{TO_TRAINER}", os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), None)

    @classmethod
    def of_simulator(cls, path: str | Path) -> "Wake | None":
        """Open the FIFOs beside a first file; None: the trainer does not know the extension, or has gone."""
        try:
            read = os.open(f"{path}{TO_SIMULATOR}", os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError:
            return None
        try:
            return cls(read, os.open(f"{path}{TO_TRAINER}", os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC))
        except OSError:
            os.close(read)
            return None

    def join(self, path: str | Path) -> bool:
        """The trainer's third step: whether the simulator knows the extension."""
        with contextlib.suppress(OSError):
            self._write = os.open(f"{path}{TO_SIMULATOR}", os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        return self._write is not None

    def signal(self) -> None:
        """Wake the other side, after the turn was given."""
        try:
            os.write(self._write, b"\1")
        except BlockingIOError:  # it is full of wake-ups
            pass
        except BrokenPipeError:
            self.gone = True

    def wait(self, seconds: float = CHECK_SECONDS) -> None:
        """Sleep until a wake-up, for so long at most; sets `gone`."""
        if not self._poll.poll(seconds * 1000):
            return
        try:
            self.gone = not os.read(self._read, _TAKE)
        except OSError as error:
            if error.errno != errno.EAGAIN:
                raise

    def close(self) -> None:
        """Close both ends; may be called twice."""
        for descriptor in (self._read, self._write):
            if descriptor is not None:
                with contextlib.suppress(OSError):
                    os.close(descriptor)
        self._read, self._write = -1, None


def remove(path: str | Path) -> None:
    """Remove the FIFOs beside a first file, if they are there."""
    for end in (TO_SIMULATOR, TO_TRAINER):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(f"{path}{end}")
