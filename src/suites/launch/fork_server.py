"""A process that has imported everything and forks a supervisor for each run, which forks the run.

The launcher writes requests to its standard input, a line of JSON each, and reads a byte from its standard output
whenever a supervisor has ended. It ends with its standard input; its supervisors do not.
"""

import gc
import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from suites.launch.supervisor import supervise
from suites.state.state import Attempt, SuiteFolder


@dataclass(frozen=True)
class Request:
    """A run to start: the words of main.py, and the variables that it gets (None takes one away)."""

    results: str
    suite: str
    attempt: Attempt
    words: list[str]
    environment: dict[str, str | None]

    def to_line(self) -> bytes:
        """As the fork server reads it."""
        return (json.dumps(asdict(self)) + "\n").encode()

    @classmethod
    def of_line(cls, line: bytes) -> "Request":
        """The request in a line."""
        content = json.loads(line)
        return cls(**{**content, "attempt": Attempt(**content["attempt"])})


class ForkServer:
    """A launcher's end of a fork server: starts the process that calls `serve`, with variables for it and all runs."""

    def __init__(self, command: list[str], environment: dict[str, str]):
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, **environment},
            # Ctrl-C in a terminal is the launcher's to act on
            start_new_session=True,
        )
        assert self._process.stdin and self._process.stdout
        self._requests, self._ends = self._process.stdin, self._process.stdout
        os.set_blocking(self._ends.fileno(), False)

    @property
    def alive(self) -> bool:
        """Whether it can start runs."""
        return self._process.poll() is None

    def start(self, request: Request) -> bool:
        """Ask for a run; whether the fork server was there to be asked."""
        try:
            self._requests.write(request.to_line())
            self._requests.flush()
        except OSError:
            return False
        return True

    def wait(self, seconds: float) -> bool:
        """Wait until a supervisor has ended, at most so long; whether one has."""
        if not select.select([self._ends], [], [], seconds)[0]:
            return False
        with suppress(BlockingIOError):
            os.read(self._ends.fileno(), 65536)
        return True

    def close(self) -> None:
        """Let it end; its runs continue."""
        with suppress(OSError):
            self._requests.close()
        self._process.wait()
        self._ends.close()


def serve(play: Callable[[list[str]], Any], warm_up: Callable[[], Any]) -> int | None:
    """Be the fork server: fork supervisors until standard input ends; each forked run calls `play` with its words.

    Returns:
        the exit code of the fork server; of a run, what `play` returns.
    """
    launcher = os.getppid()
    warm_up()
    # what is there now stays, and its pages are shared by all runs
    gc.collect()
    gc.freeze()
    request = _forked(_requests(launcher))
    if request is None:
        return 0
    _become_supervisor()
    folder = SuiteFolder(request.results, request.suite)
    if supervise(folder, request.attempt, os.fork) is not None:
        # at once: taking an interpreter apart copies all that it shares with the fork server
        os._exit(0)
    _become_run(request, folder.output(request.attempt.run))
    return play(request.words)


def _forked(requests: Iterator[Request]) -> Request | None:
    """Fork for each request. Returns it in the child, and None in the fork server, once no more come."""
    for request in requests:
        if os.fork() == 0:
            return request
    return None


def _requests(launcher: int) -> Iterator[Request]:
    """Requests as they come, as long as the launcher lives; it gets a byte for each child that has ended."""
    reader, writer = os.pipe()
    for end in (reader, writer):
        os.set_blocking(end, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    unread = b""
    while True:
        ready, _, _ = select.select([0, reader], [], [])
        if reader in ready:
            with suppress(BlockingIOError):
                os.read(reader, 4096)
            with suppress(ChildProcessError):
                while os.waitpid(-1, os.WNOHANG)[0] != 0:
                    with suppress(OSError):  # the launcher has ended
                        os.write(1, b".")
        if 0 in ready:
            if not (read := os.read(0, 65536)) or os.getppid() != launcher:
                return
            *lines, unread = (unread + read).split(b"\n")
            yield from map(Request.of_line, lines)


def _become_supervisor() -> None:
    """A session and signals of its own; the launcher's pipes are not its: it would keep them open."""
    os.setsid()
    signal.set_wakeup_fd(-1)
    for signum in (signal.SIGCHLD, signal.SIGTERM):
        signal.signal(signum, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1):
        os.dup2(nowhere, number)
    os.close(nowhere)


def _become_run(request: Request, output: Path) -> None:
    """Output goes to the run's file; its processors and graphics cards are those that it was given."""
    file = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    for number in (1, 2):
        os.dup2(file, number)
    os.close(file)
    # new ones: those of the fork server may hold text
    for name, number in (("stdout", 1), ("stderr", 2)):
        stream = os.fdopen(number, "w", buffering=1, closefd=False)
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)
    for key, value in request.environment.items():
        os.environ.pop(key, None)
        if value is not None:
            os.environ[key] = value
    if request.attempt.cores and hasattr(os, "sched_setaffinity"):
        with suppress(OSError):
            os.sched_setaffinity(0, request.attempt.cores)
