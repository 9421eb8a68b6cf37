"""Work in forked children, so that a failure on a card, or work that hangs, ends nothing else (benchmarks/gpu.py)."""

import multiprocessing
import os
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from typing import Any

try:
    import cloudpickle
except ImportError:  # a machine with torch and no package index has joblib rather than this
    from joblib.externals import cloudpickle

    sys.modules["cloudpickle"] = cloudpickle

CONTEXT = multiprocessing.get_context("fork")


class Failed(Exception):
    """What a child was asked to do did not work; the message is one line."""


class Deadline:
    """The end of all work, so many seconds from now."""

    def __init__(self, seconds: float):
        self._end = time.monotonic() + seconds

    def left(self) -> float:
        return self._end - time.monotonic()


class Child:
    """A process that has what this one has imported, and calls one function after another.

    After a failure, another one takes its place: errors of a card stay with the process that had them. This process
    must not touch the card, as CUDA does not survive a fork.

    Args:
        deadline: of all its work.
    """

    def __init__(self, deadline: Deadline):
        self._deadline, self._process, self._pipe = deadline, None, None
        self._printed = tempfile.NamedTemporaryFile("w+", errors="replace")  # noqa: SIM115

    def call(self, function: Callable, *arguments: Any, seconds: float = 60) -> Any:
        """What the function returns.

        Raises:
            Failed: it raised something, its process ended, or it took too long.
        """
        self.ask(function, *arguments)
        return self.answer(seconds)

    def ask(self, function: Callable, *arguments: Any) -> None:
        """Begin a call, whose `answer` is asked for next."""
        if self._deadline.left() <= 0:
            return
        if self._process is not None and not self._process.is_alive():
            self.end()
        if self._process is None:
            self._pipe, theirs = CONTEXT.Pipe()
            self._process = CONTEXT.Process(target=_serve, args=(theirs, self._pipe, self._printed.fileno()))
            self._process.start()
            theirs.close()
        self._pipe.send((function, arguments))

    def answer(self, seconds: float) -> Any:
        """See `call`."""
        if (left := self._deadline.left()) <= 0 or self._process is None:
            self.end()
            raise Failed("not in time")
        try:
            if not self._pipe.poll(min(seconds, left)):
                raise Failed("not in time" if left < seconds else f"not in {seconds:.0f} s")
            result, fault = self._pipe.recv()
            if fault:
                raise Failed(fault)
        except (EOFError, OSError):
            self._process.join(1)
            code = self._process.exitcode
            self.end()
            raise Failed(f"its process ended with exit code {code}: {self._last_line()}") from None
        except BaseException:
            self.end()
            raise
        return result

    def end(self) -> None:
        """End the process; what it was asked is not answered."""
        if self._process is not None:
            self._process.kill()
            self._process.join()
            self._pipe.close()
            self._process = None

    def _last_line(self) -> str:
        self._printed.seek(0)
        return next((line for line in reversed(self._printed.read().splitlines()) if line.strip()), "it said nothing")


def _serve(pipe: Any, theirs: Any, printed: int) -> None:
    theirs.close()
    # who stops the program stops the parent, which ends this process
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for stream in (1, 2):
        os.dup2(printed, stream)
    while True:
        try:
            function, arguments = pipe.recv()
        except EOFError:
            os._exit(0)
        try:
            answer = function(*arguments), ""
        except BaseException as error:
            traceback.print_exc()
            lines = [line.strip() for line in str(error).splitlines() if line.strip()]
            answer = None, f"{type(error).__name__}: {lines[-1] if lines else ''}"
        pipe.send(answer)
