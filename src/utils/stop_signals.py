"""SIGINT, SIGTERM and SIGUSR1 while a run is under way."""

import os
import signal
import threading
from types import FrameType
from typing import Any


class Interrupted(KeyboardInterrupt):
    """A run was told to stop, and has. Sacred records the status INTERRUPTED; `exit_code` is 128 + the signal.

    Args:
        signum: the signal.
        message: what was kept and how to go on.
    """

    STATUS = "INTERRUPTED"

    def __init__(self, signum: int, message: str):
        super().__init__(message)
        self.exit_code = 128 + signum


class StopSignals:
    """Notes signals within `with`, for the loop to look at.

    The first SIGINT (Ctrl-C) or SIGTERM is noted in `stop`; a second one ends the process at once, with 128 + signal as
    its exit code. SIGUSR1 is noted in `save`. While nothing looks at the notes, before `watched` is set, the first
    one raises Interrupted. Outside the main thread, where Python has no signals, nothing is noted.
    """

    def __init__(self) -> None:
        self.stop: int | None = None
        self.save = False
        self.watched = False
        self._before: dict[int, Any] = {}

    def __enter__(self) -> "StopSignals":
        if threading.current_thread() is threading.main_thread():
            handlers = {signal.SIGINT: self._note_stop, signal.SIGTERM: self._note_stop}
            if hasattr(signal, "SIGUSR1"):
                handlers[signal.SIGUSR1] = self._note_save
            self._before = {signum: signal.signal(signum, handler) for signum, handler in handlers.items()}
        return self

    def __exit__(self, *_: Any) -> None:
        for signum, handler in self._before.items():
            signal.signal(signum, handler)

    def _note_stop(self, signum: int, frame: FrameType | None) -> None:
        name = signal.Signals(signum).name
        if self.stop is not None:
            _say(f"{name} once more: ending at once.")
            os._exit(128 + signum)
        self.stop = signum
        if not self.watched:
            raise Interrupted(signum, f"Interrupted by {name}; there is no checkpoint to go on from.")
        _say(f"{name}: finishing the step, then saving. Once more ends at once.")

    def _note_save(self, signum: int, frame: FrameType | None) -> None:
        self.save = True


def _say(text: str) -> None:
    # within a handler, print and logging may find their own locks taken
    os.write(2, f"\n{text}\n".encode())
