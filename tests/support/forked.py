"""Processes that start at once: a server that has imported everything forks each of them."""

import atexit
import os
import signal
import subprocess
import sys
import tempfile
import time
from multiprocessing import forkserver
from multiprocessing.context import ForkServerContext, ForkServerProcess
from pathlib import Path


class _Process(ForkServerProcess):
    """With the environment variables and the folder that its parent has now: the server has those of its start."""

    def __init__(self, group=None, target=None, name=None, args=(), kwargs=None, *, daemon=None):
        arguments = (dict(os.environ), os.getcwd(), target, args, kwargs or {})
        super().__init__(group, _as_its_parent, name, arguments, daemon=daemon)

    def start(self):
        mask = signal.pthread_sigmask(signal.SIG_SETMASK, ())
        try:
            _start_server()  # which gives its mask of signals to all children
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        self._args = (mask, forkserver._forkserver._forkserver_address, *self._args)
        super().start()


def _as_its_parent(mask, server, environment, folder, target, args, kwargs):
    import numpy as np

    signal.pthread_sigmask(signal.SIG_SETMASK, mask)
    _SERVERS.append(server)
    np.random.seed()  # as in a new interpreter: all children would draw what the server would
    _set_environment(environment)
    os.chdir(folder)
    target(*args, **kwargs)


class _Context(ForkServerContext):
    Process = _Process


_AT_IMPORT = dict(os.environ)
# in a child: the address of the server that it was forked by
_SERVERS: list[str] = []


def fork_grandchildren() -> None:
    """In a child of the server: the processes that it starts fork from the same server.

    They are the server's children, so a test of who a process's children are does without.
    """
    from utils.processes import child_process

    server = forkserver._forkserver
    server._forkserver_address, server.ensure_running = _SERVERS[-1], lambda: None
    child_process.CONTEXT = CONTEXT


CONTEXT = _Context()
CONTEXT.set_forkserver_preload(["imported_ahead"])


def _start_server():
    if _SERVERS:
        return
    now = dict(os.environ)
    # what the first test to start a process has set is its own: with another cache, the simulators would be compiled
    _set_environment(_AT_IMPORT)
    # Python 3.11 does not give the server our sys.path, and does not say so when an import fails there
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [*sys.path, now.get("PYTHONPATH")]))
    try:
        forkserver.ensure_running()
    finally:
        _set_environment(now)


def _set_environment(variables):
    os.environ.clear()
    os.environ.update(variables)


def start_forked(target, *arguments):
    """A process that calls `target(*arguments)`."""
    process = CONTEXT.Process(target=target, args=arguments)
    process.start()
    # multiprocessing would wait, at the end of all tests, for one that a failed test has left
    atexit.register(process.kill)
    return process


class Command:
    """`python src/main.py *words` in the folder `cwd`, without the seconds in which a process imports everything.

    Its imports, the signals before a run starts and the end of its interpreter need a process of the system's.

    Args:
        own_children: its workers are its children, started as they are outside tests; else they fork as it does.
    """

    def __init__(self, *words: str, cwd: Path, own_children: bool = False):
        self._folder = tempfile.TemporaryDirectory()
        self._out, self._err = (Path(self._folder.name, name) for name in ("stdout", "stderr"))
        self._words = words
        self._process = start_forked(_main, words, cwd, self._out, self._err, own_children)
        self.pid = self._process.pid

    def wait_for(self, text: str, timeout: float = 240) -> "Command":
        """Wait until `text` is printed. Raises AssertionError: the process ends before."""
        deadline = time.monotonic() + timeout
        while text not in self._printed():
            assert self.is_running() or text in self._printed(), self._printed()
            assert time.monotonic() < deadline, f"{self._words} does not print {text!r}, but {self._printed()}"
            self._process.join(0.01)
        return self

    def is_running(self) -> bool:
        return self._process.is_alive()

    def send_signal(self, signum: int) -> None:
        os.kill(self.pid, signum)

    def kill(self) -> None:
        """End it without its knowledge."""
        self.send_signal(signal.SIGKILL)
        self._process.join()

    def end(self, timeout: float = 240) -> subprocess.CompletedProcess:
        """Wait for the end. Raises AssertionError: it does not come."""
        self._process.join(timeout)
        if self.is_running():
            self.kill()
            raise AssertionError(f"{self._words} does not end: {self._printed()}")
        printed = [self._out.read_text(), self._err.read_text()]
        self._folder.cleanup()
        return subprocess.CompletedProcess(self._words, self._process.exitcode, *printed)

    def _printed(self) -> str:
        return "".join(file.read_text() for file in (self._out, self._err) if file.exists())


def run_command(*words: str, cwd: Path) -> subprocess.CompletedProcess:
    """A `Command`, from its start to its end."""
    return Command(*words, cwd=cwd).end()


def _main(words, cwd, out, err, own_children):
    from main import main

    if not own_children:
        fork_grandchildren()
    os.chdir(cwd)
    for number, path in ((1, out), (2, err)):
        os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
    sys.argv = ["src/main.py", *words]
    sys.exit(main(words))
