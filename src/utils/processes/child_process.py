"""Child processes that their parent ends in good order, and that end with it however it ends."""

import contextlib
import multiprocessing
import os
import signal
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from multiprocessing import resource_tracker
from typing import Any

# spawn: a forked copy of a process with torch's threads may hang, and would keep its siblings' pipes open
CONTEXT = multiprocessing.get_context("spawn")
# seconds a child gets to end before it is killed: by its parent, or by itself when the parent is gone
CLOSE_TIMEOUT = 5.0


class ChildProcess:
    """`target(*args)` in a new process, started.

    Ctrl-C, SIGTERM and SIGUSR1 do not end it: they reach all processes of a terminal or of a cluster's job, and the
    parent acts on them. It leads its own process group, which contains everything it starts; `kill` ends them all.
    When the parent has ended, so does the child, at the latest `CLOSE_TIMEOUT` seconds later, with its group.

    Args:
        target: a function of a module, which the child imports.
        args: picklable.
        name: of the process.
        has_children: whether it may start such processes itself.

    Raises:
        OSError: it cannot be started.
    """

    def __init__(self, target: Callable, args: tuple, name: str, has_children: bool = False):
        # Python ends daemons at exit, and lets them have no children
        self._process = CONTEXT.Process(target=_run, args=(target, args), name=name, daemon=not has_children)
        with _signals_held():
            self._process.start()
        if has_children:
            weakref.finalize(self, _kill_group, self._process)

    @property
    def pid(self) -> int:
        """The number of the process, and of its group."""
        return self._process.pid  # type: ignore[return-value] # it was started

    @property
    def alive(self) -> bool:
        """Whether it has not ended."""
        return self._process.is_alive()

    def died(self, doing: str) -> str:
        """The end of a sentence about a child that ended by itself while `doing` something; its group is killed."""
        return (
            f"died in {doing}: {self.ended()}. "
            "It left no traceback; look for its own output above, and for the system's out-of-memory log."
        )

    def ended(self) -> str:
        """How a child ended that ended by itself; its group is killed."""
        self._process.join(timeout=CLOSE_TIMEOUT)
        code = self._process.exitcode
        self.kill()
        if code is None:
            return "it closed its connection and did not end"
        return f"killed by {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"

    def hangs(self, doing: str, seconds: float, key: str) -> str:
        """The end of a sentence about a child that did not answer for so long, which is killed.

        Args:
            key: of the config, with the timeout.
        """
        self.kill()
        return f"did not answer to {doing} for {seconds:g} seconds ({key}) and was killed."

    def end(self, seconds: float = CLOSE_TIMEOUT) -> None:
        """Wait for its end for `seconds`, then kill it: it ignores SIGTERM."""
        self._process.join(timeout=seconds)
        if self.alive:
            self.kill()

    def kill(self) -> None:
        """End it and its children, at once."""
        _kill_group(self._process)


def _kill_group(process: Any) -> None:
    if hasattr(os, "killpg"):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    process.kill()
    process.join()


@contextlib.contextmanager
def _signals_held() -> Iterator[None]:
    """Hold signals back, also in processes started meanwhile: still importing, a child would end or print a
    traceback."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    # spawn starts this process at the first need, and lets Ctrl-C through while doing so
    resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM, signal.SIGUSR1})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _run(target: Callable, args: tuple) -> None:
    _outlive_signals()
    parent = multiprocessing.parent_process()
    threading.Thread(target=_end_after, args=(parent,), daemon=True).start()
    target(*args)


def _outlive_signals() -> None:
    """Ignore signals, so that only the parent ends this process, and lead a new process group."""
    if hasattr(os, "setpgid"):
        os.setpgid(0, 0)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # handlers, which a program started from here does not inherit; ignoring would be inherited
    for name in ("SIGTERM", "SIGUSR1"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), _do_nothing)
    if hasattr(signal, "pthread_sigmask"):
        # held back while this process started
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT, signal.SIGTERM, signal.SIGUSR1})


def _do_nothing(*_: Any) -> None:
    pass


def _end_after(parent: Any) -> None:
    """End this process and its group when the parent has ended, even if `target` never returns."""
    parent.join()
    time.sleep(CLOSE_TIMEOUT)
    if hasattr(os, "killpg"):
        os.killpg(0, signal.SIGKILL)
    os._exit(1)
