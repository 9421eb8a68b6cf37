"""An extension of both protocols: whoever gives the turn wakes the other, who sleeps instead of polling a byte.

A trainer that knows it makes three files beside the first file, before that file is there:

    <path of the first file>.awake         two bytes that say who need not be woken: the trainer's at 0, the
                                           simulator's at 64; both 0 at first
    <path of the first file>.to_simulator  a named FIFO; the simulator reads, the trainer writes
    <path of the first file>.to_trainer    a named FIFO; the trainer reads, the simulator writes

The files' other bytes do not change: the turn still is the byte that it is without the extension. Whoever has passed it
by that byte then writes one byte (its value says nothing) into the other's FIFO, unless the other's byte of `.awake`
is 1. Who waits sleeps until its FIFO has bytes, takes them all, and looks at the turn. So a wake-up too many does no
harm.

Waking a process takes longer than most turns. While it expects the turn soon, a side may set its byte of `.awake` and
look at the turn again and again. Before it sleeps it sets the byte to 0, and then looks at the turn once more. It is
never left asleep: one side writes the turn and then reads the byte, the other writes the byte and then reads the turn,
so at least one of them sees what the other wrote. Both need a full memory fence between the two (`_fence` here,
`__atomic_thread_fence(__ATOMIC_SEQ_CST)` in C). A side that never sets its byte is always woken.

Each finds out by itself whether the other knows it. All open without blocking (O_NONBLOCK), which decides:

    1. The trainer opens `.to_trainer` for reading.
    2. A simulator that finds both FIFOs opens `.to_simulator` for reading, then `.to_trainer` for writing. If that
       fails (ENXIO: nobody reads), the FIFOs are left over from a trainer that has ended, and it polls. It does so
       before it passes its first turn.
    3. The trainer, at the simulator's first turn passed, opens `.to_simulator` for writing. If that fails, the
       simulator does not know the extension, and both sides poll.

A FIFO whose other end has closed says so at once (POLLHUP, EPIPE): the other process has ended. Who polls nevertheless
checks the turn every `CHECK_SECONDS`. The trainer removes the files when it closes.

Once it has been woken, a side reads its FIFO without asking before whether there is something: one call of the system
less a turn, of four. A thread of its own wakes it every `NUDGE_SECONDS` in which nothing comes.
"""

import contextlib
import errno
import os
import select
import threading
import time
import weakref
from pathlib import Path

TO_SIMULATOR, TO_TRAINER, AWAKE = ".to_simulator", ".to_trainer", ".awake"
# places of the bytes in `.awake`: not in one line of the processor's cache
TRAINERS, SIMULATORS = 0, 64
CHECK_SECONDS = 1.0
NUDGE_SECONDS = 0.2
# more than there ever are, and few enough for Python's own pools of memory
_TAKE = 256
_AWAKE, _ASLEEP = b"\1", b"\0"


class Wake:
    """One side's two ends. Made by `of_trainer` or `of_simulator`.

    Args:
        path: of the first file.
        fifo: the ending of where wake-ups arrive.
        own, other: places of the sides' bytes in `.awake`.

    Raises:
        OSError: there is no such FIFO.
    """

    def __init__(self, path: str | Path, fifo: str, own: int, other: int):
        self._fifo = f"{path}{fifo}"
        self._read = os.open(self._fifo, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        # -1: there is none
        self._write = self._flags = -1
        with contextlib.suppress(OSError):
            self._flags = os.open(f"{path}{AWAKE}", os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        self._own, self._other = own, other
        # whether the other side knows that this one is awake
        self.is_awake = False
        self._lock = threading.Lock()
        self._poll = select.poll()
        self._poll.register(self._read, select.POLLIN)
        # whether a thread wakes this side now and then, so that it may sleep without a limit
        self._is_nudged = False
        # how often it has begun to sleep so, and whether it does
        self._sleeps, self._asleep = 0, False
        # whether the other process has closed its ends
        self.gone = False

    @classmethod
    def of_trainer(cls, path: str | Path) -> "Wake":
        """Make the files beside a first file that is not there yet.

        Raises:
            OSError: they cannot be made, or exist.
        """
        flags = os.open(f"{path}{AWAKE}", os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        os.write(flags, bytes(2 * SIMULATORS))
        os.close(flags)
        for end in (TO_SIMULATOR, TO_TRAINER):
            os.mkfifo(f"{path}{end}", 0o600)
        return cls(path, TO_TRAINER, TRAINERS, SIMULATORS)

    @classmethod
    def of_simulator(cls, path: str | Path) -> "Wake | None":
        """Open the FIFOs beside a first file; None: the trainer does not know the extension, or has gone."""
        try:
            wake = cls(path, TO_SIMULATOR, SIMULATORS, TRAINERS)
        except OSError:
            return None
        try:
            wake._write = _open_to_write(f"{path}{TO_TRAINER}")
        except OSError:
            wake.close()
            return None
        return wake

    def join(self, path: str | Path) -> bool:
        """The trainer's third step: whether the simulator knows the extension."""
        with contextlib.suppress(OSError):
            self._write = _open_to_write(f"{path}{TO_SIMULATOR}")
        return self._write >= 0

    def signal(self) -> None:
        """Wake the other side, after the turn was given, unless it is awake."""
        # who has had to be woken itself does not ask: the other side has slept as well, most likely
        if self.is_awake:
            self._fence()
            if os.pread(self._flags, 1, self._other) == _AWAKE:
                return
        try:
            os.write(self._write, b"\1")
        except BlockingIOError:  # it is full of wake-ups
            pass
        except BrokenPipeError:
            self.gone = True

    def stay_awake(self) -> bool:
        """Let the other side know that this one looks at the turn by itself; False: there is no way to say so."""
        if self._flags >= 0 and not self.is_awake:
            os.pwrite(self._flags, _AWAKE, self._own)
            self.is_awake = True
        return self.is_awake

    def fall_asleep(self) -> bool:
        """Before `wait`: the other side has to wake this one. True: it did not know so far, and may have passed the
        turn without, so look at the turn once more."""
        if not self.is_awake:
            return False
        os.pwrite(self._flags, _ASLEEP, self._own)
        self.is_awake = False
        self._fence()
        return True

    def wait(self, seconds: float = CHECK_SECONDS) -> None:
        """Sleep until a wake-up, for so long at most, or `NUDGE_SECONDS` if these are less; sets `gone`."""
        if self._is_nudged:
            self._sleeps += 1
            self._asleep = True
            self.gone = not os.read(self._read, _TAKE)
            self._asleep = False
            return
        if not self._poll.poll(seconds * 1000):
            return
        try:
            self.gone = not os.read(self._read, _TAKE)
        except OSError as error:
            if error.errno != errno.EAGAIN:
                raise
            return
        if not self.gone:
            os.set_blocking(self._read, True)
            self._is_nudged = True
            threading.Thread(target=_nudge, args=(weakref.ref(self),), name="dots wake-ups", daemon=True).start()

    def nudge_if_asleep(self, since: int) -> int:
        """Wake this side itself, if it sleeps since its sleep of this number; returns the number of the newest."""
        if self._asleep and self._sleeps == since:
            # not kept open: the other side's end has to be the last
            with contextlib.suppress(OSError):
                end = _open_to_write(self._fifo)
                os.write(end, b"\1")
                os.close(end)
        return self._sleeps

    def close(self) -> None:
        """Close both ends; may be called twice."""
        for descriptor in (self._read, self._write, self._flags):
            with contextlib.suppress(OSError):
                os.close(descriptor)
        self._read = self._write = self._flags = -1

    @property
    def closed(self) -> bool:
        """Whether `close` was called."""
        return self._read == -1

    def _fence(self) -> None:
        """What was written before is seen by all before anything is read after it: a lock's atomic exchange does so."""
        with self._lock:
            pass


def _open_to_write(fifo: str) -> int:
    """Raises OSError: there is none, or nobody reads it."""
    return os.open(fifo, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)


def _nudge(of: "weakref.ref[Wake]") -> None:
    since = 0
    while True:
        time.sleep(NUDGE_SECONDS)
        wake = of()
        if wake is None or wake.closed:
            return
        since = wake.nudge_if_asleep(since)
        del wake


def remove(path: str | Path) -> None:
    """Remove the extension's files beside a first file, if they are there."""
    for end in (TO_SIMULATOR, TO_TRAINER, AWAKE):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(f"{path}{end}")
