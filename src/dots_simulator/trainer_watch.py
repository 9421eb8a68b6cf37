"""Waiting for the trainer's turn to end, and noticing that the trainer has."""

import contextlib
import fcntl
import os
import re
from collections.abc import Callable
from pathlib import Path

from dots_simulator.layout import LOCK
from dots_simulator.sealed import SEALED
from dots_simulator.waiting import Waiter
from dots_simulator.wake import Wake, remove


class TrainerEnded(Exception):
    """The trainer has ended without closing."""


class TrainerWatch(Waiter):
    """Waits for one trainer.

    A trainer has ended if its end of a FIFO is closed (see `wake`), if this process, which it started, has another
    parent, or if it held its lock (`layout.LOCK`) and does not any more.
    """

    def __init__(self, path: Path, is_parent: bool):
        super().__init__(Wake.of_simulator(path))
        self.path = path
        self._parent = os.getppid() if is_parent else None
        self._lock: int | None = None
        with contextlib.suppress(OSError):
            self._lock = os.open(f"{path}{LOCK}", os.O_RDONLY | os.O_CLOEXEC)
        self._was_locked = self._locked()

    def signal(self) -> None:
        if self.wake is not None:
            # only now: protocol 0's trainer gives the first turn before it knows how to wake this side
            self.joined = True
            self.wake.signal()

    def trainer_ended(self) -> bool:
        """Whether nobody is there."""
        gone = self.wake is not None and self.wake.gone
        orphaned = self._parent is not None and os.getppid() != self._parent
        return gone or orphaned or (self._was_locked and not self._locked())

    def remove_files(self) -> None:
        """Remove the first file and all that belongs to it, wherever either side has stopped."""
        remove(self.path)
        ours = re.compile(f"{re.escape(self.path.name)}(_*|{re.escape(LOCK)}|{re.escape(SEALED)})")
        for file in self.path.parent.iterdir():
            if ours.fullmatch(file.name):
                with contextlib.suppress(FileNotFoundError):
                    file.unlink()

    def close(self) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None
        if self.wake is not None:
            self.wake.close()
            self.wake = None

    def _check(self, is_ours: Callable[[], bool]) -> None:
        # it may have passed the turn and ended since
        if self.trainer_ended() and not is_ours():
            raise TrainerEnded

    def _locked(self) -> bool:
        return self._lock is not None and _is_locked(self._lock)


def was_left_behind(path: Path) -> bool:
    """Whether a first file is there whose trainer has ended. Of one that locks nothing (`layout.LOCK`) nobody knows."""
    try:
        lock = os.open(f"{path}{LOCK}", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        return not _is_locked(lock)
    finally:
        os.close(lock)


def _is_locked(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    fcntl.flock(descriptor, fcntl.LOCK_UN)
    return False
