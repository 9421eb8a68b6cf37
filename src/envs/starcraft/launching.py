"""Starting games one after another, and leaving nothing behind however a run ends."""

import contextlib
import fcntl
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

GUARD = Path(__file__).with_name("guard.py")


class GameFolder:
    """A temporary folder for the games of one environment, removed with them when this process ends.

    pysc2 removes its own temporary folder, and ends its game, only when it is closed in good order. A guard process
    does it after a kill, too: it waits for the end of a pipe that only this process holds open.
    """

    def __init__(self):
        self.path = Path(tempfile.mkdtemp(prefix="muster-sc2-"))
        command = [sys.executable, "-I", "-S", str(GUARD), str(self.path)]
        # in its own session: Ctrl-C in a terminal reaches the run, and the guard acts when the run has ended
        self._guard = subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True)

    @contextlib.contextmanager
    def launching(self) -> Iterator[None]:
        """A context to start a game in: in this folder, and never two at the same time on this machine.

        pysc2 looks for a free port, and the game takes it only later: two games that start together may get the same
        one. Waiting also spreads the load of starting.
        """
        lock = Path(tempfile.gettempdir()) / f"muster-sc2-{os.getuid()}.lock"
        with lock.open("w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            before, tempfile.tempdir = tempfile.tempdir, str(self.path)
            try:
                yield
            finally:
                tempfile.tempdir = before

    def close(self) -> None:
        """Remove the folder, and end all processes in it; may be called twice."""
        if self._guard.poll() is None:
            self._guard.stdin.close()
            self._guard.wait()
        shutil.rmtree(self.path, ignore_errors=True)
