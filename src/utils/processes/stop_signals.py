"""SIGINT, SIGTERM and SIGUSR1 while a run is under way."""

import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from utils.processes.stopping import GRACE, StopPlaying, request_stop, withdraw_stop

# seconds within which SIGTERM counts once: a batch system sends it to every process, and so may who watches the run
TOGETHER = 1.0
BEFORE_TRAINING = "before training started; there is nothing to save."


class Interrupted(KeyboardInterrupt):
    """A signal told a run to stop, and it has. Sacred records the status INTERRUPTED; `exit_code` is 128 + the signal.

    Args:
        signum: the signal.
        message: the kept files and how to resume.
    """

    STATUS = "INTERRUPTED"

    def __init__(self, signum: int, message: str):
        super().__init__(message)
        self.exit_code = 128 + signum


class StopSignals:
    """Notes signals from `install` to `restore`, or within `with`: they then interrupt nothing in the middle.

    The first SIGINT (Ctrl-C) or SIGTERM is noted in `stop`, for `raise_noted` or the loop to act on; within `raising`
    it raises Interrupted. A second one ends the process at once, with 128 + signal as its exit code, unless it is a
    SIGTERM right after the first. SIGUSR1 is noted in `save`, or stops, too. Outside the main thread, where Python has
    no signals, nothing is noted.

    Within `watching`, a signal to stop also requests that playing stops (`utils.processes.stopping`), and within
    `playing`, it raises StopPlaying if the step that is being made is not done after some seconds.

    Attributes:
        sigusr1_stops: SIGUSR1 is a signal to stop, too.
    """

    def __init__(self) -> None:
        self.stop: int | None = None
        self.save = False
        self.sigusr1_stops = False
        self._watched = self._plays = self._raises = False
        self._noted = 0.0
        self._when = BEFORE_TRAINING
        self._before: dict[int, Any] = {}

    def install(self) -> None:
        """Note signals from now on."""
        if threading.current_thread() is threading.main_thread():
            handlers = {signal.SIGINT: self._note_stop, signal.SIGTERM: self._note_stop}
            if hasattr(signal, "SIGUSR1"):
                handlers[signal.SIGUSR1] = self._note_save
            self._before = {signum: signal.signal(signum, handler) for signum, handler in handlers.items()}

    def restore(self) -> None:
        """Put the handlers back that were there before `install`."""
        before, self._before = self._before, {}
        for signum, handler in before.items():
            signal.signal(signum, handler)

    def __enter__(self) -> "StopSignals":
        self.install()
        return self

    def __exit__(self, *_: Any) -> None:
        self.restore()

    def raise_noted(self) -> None:
        """Raises: Interrupted: a signal to stop was noted."""
        if self.stop is not None:
            name = signal.Signals(self.stop).name
            raise Interrupted(self.stop, f"Interrupted by {name} {self._when}")

    @contextmanager
    def raising(self, when: str = BEFORE_TRAINING) -> Iterator[None]:
        """Within this block a signal to stop raises Interrupted at once: for long, interruptible work.

        Args:
            when: the end of its message, which says what was being done and what is kept.
        """
        self._when = when
        unraisable = sys.unraisablehook
        sys.unraisablehook = lambda raised: None if isinstance(raised.exc_value, Interrupted) else unraisable(raised)
        self._raises = True
        try:
            self.raise_noted()  # before the block
            yield
            self.raise_noted()  # code within, such as a finaliser, may have swallowed the exception
        except Exception:
            self.raise_noted()  # or replaced it by another one
            raise
        finally:
            self._raises, self._when = False, BEFORE_TRAINING
            sys.unraisablehook = unraisable

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Within this block somebody looks at `stop` from time to time, and heeds requests to stop playing."""
        self._watched = True
        try:
            if self.stop is not None:
                self._request()
            yield
        finally:
            self._watched = False
            withdraw_stop()
            self._set_alarm(0)

    @contextmanager
    def playing(self) -> Iterator[None]:
        """Within this block environments are played; a step that hangs is given up."""
        self._plays = True
        try:
            yield
        finally:
            self._plays = False

    def _note_stop(self, signum: int, frame: FrameType | None) -> None:
        name = signal.Signals(signum).name
        now = time.monotonic()
        if self.stop is not None:
            if signum == self.stop == signal.SIGTERM and now - self._noted < TOGETHER:
                return
            _say(f"{name} once more: ending at once.")
            os._exit(128 + signum)
        self.stop, self._noted = signum, now
        if self._raises:
            self.raise_noted()
        does = "finishing the step, then saving" if self._watched else "stopping"
        _say(f"{name}: {does}. Once more ends at once.")
        if self._watched:
            self._request()

    def _note_save(self, signum: int, frame: FrameType | None) -> None:
        if self.sigusr1_stops:
            self._note_stop(signum, frame)
        else:
            self.save = True

    def _request(self) -> None:
        request_stop()
        self._set_alarm(GRACE)

    def _set_alarm(self, seconds: float) -> None:
        """Look after so long whether a step hangs; 0: not any more. Only a run that stops needs the process's alarm."""
        if hasattr(signal, "setitimer") and (seconds or signal.SIGALRM in self._before):
            if seconds:
                self._before.setdefault(signal.SIGALRM, signal.signal(signal.SIGALRM, self._give_up))
            signal.setitimer(signal.ITIMER_REAL, seconds)

    def _give_up(self, signum: int, frame: FrameType | None) -> None:
        if self._plays:
            raise StopPlaying(between_steps=False)


def _say(text: str) -> None:
    # within a handler, print and logging may find their own locks taken
    os.write(2, f"\n{text}\n".encode())
