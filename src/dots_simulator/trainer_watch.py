"""Waiting for the trainer's turn to end, and noticing that the trainer has."""

import contextlib
import fcntl
import os
import re
import time
from collections.abc import Callable
from pathlib import Path

from dots_simulator.layout import LOCK
from dots_simulator.sealed import SEALED
from dots_simulator.spin import Spin, naps
from dots_simulator.wake import Wake, remove

# seconds between two looks whether the trainer lives
CHECK_SECONDS = 0.25


class TrainerEnded(Exception):
    """The trainer has ended without closing."""


class TrainerWatch:
    """Waits for one trainer.

    A trainer has ended if its end of a FIFO is closed (see `wake`), if this process, which it started, has another
    parent, or if it held its lock (`layout.LOCK`) and does not any more.
    """

    def __init__(self, path: Path, is_parent: bool):
        self.path = path
        self._wake = Wake.of_simulator(path)
        # protocol 0's trainer gives the first turn before it knows how to wake this side
        self._may_be_woken = False
        self._spin = Spin()
        self._parent = os.getppid() if is_parent else None
        self._lock: int | None = None
        with contextlib.suppress(OSError):
            self._lock = os.open(f"{path}{LOCK}", os.O_RDONLY | os.O_CLOEXEC)
        self._was_locked = self._locked()

    def signal(self) -> None:
        """Wake the trainer, to whom the turn was given."""
        self._may_be_woken = True
        if self._wake:
            self._wake.signal()

    def wait_until(self, our_turn: Callable[[], bool]) -> None:
        """Return when `our_turn()`. Raises TrainerEnded: it will never be."""
        wake = self._wake if self._may_be_woken else None
        if self._spin.due():
            if wake is not None:
                wake.stay_awake()
            if self._spin.look(our_turn):
                return
        if wake is not None:
            if wake.is_awake and wake.fall_asleep() and our_turn():
                return
            while True:
                wake.wait(CHECK_SECONDS)
                if our_turn():
                    return
                self._require_trainer(our_turn)
        passed = 0.0
        for pause in naps():
            if our_turn():
                return
            time.sleep(pause)
            passed += pause
            if passed > CHECK_SECONDS:
                self._require_trainer(our_turn)
                passed = 0.0

    def trainer_ended(self) -> bool:
        """Whether nobody is there."""
        gone = self._wake is not None and self._wake.gone
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
        if self._wake:
            self._wake.close()
            self._wake = None

    def _require_trainer(self, our_turn: Callable[[], bool]) -> None:
        # it may have passed the turn and ended since
        if self.trainer_ended() and not our_turn():
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
    """Whether another process holds this lock."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    fcntl.flock(descriptor, fcntl.LOCK_UN)
    return False
