"""Starting games one after another, and leaving nothing behind however a run ends."""

import contextlib
import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from utils.processes.reaper import Reaper

REAPER = Path(__file__).with_name("reaper.py")


class GameFolder:
    """A temporary folder for the games of one environment, removed with them when this process ends.

    pysc2 removes its own temporary folder, and ends its game, only when it is closed in good order. A reaper does
    it after a kill, too.
    """

    def __init__(self):
        self.path = Path(tempfile.mkdtemp(prefix="muster-sc2-"))
        self._reaper = Reaper(REAPER, str(self.path))

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
        self._reaper.close()
        shutil.rmtree(self.path, ignore_errors=True)
