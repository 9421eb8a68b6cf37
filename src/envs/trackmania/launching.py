"""Starting the game, and ending what was started: never another game of the same user."""

import contextlib
import os
import shlex
import subprocess
import sys
import tempfile
import time
import uuid
from pathlib import Path

from envs.trackmania.reaper import VARIABLE, kill_all, processes_of
from utils.errors import MusterError
from utils.processes.reaper import Reaper

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

REAPER = Path(__file__).with_name("reaper.py")
PORT = "{port}"
GONE_SECONDS = 10.0  # for a killed process to be gone
WINDOWS = sys.platform == "win32"
# of a launcher that starts the game and ends, the game's number
FIND_GAME = (
    "Get-CimInstance Win32_Process -Filter \"Name='TmForever.exe' AND ParentProcessId={parent}\" "
    "| ForEach-Object ProcessId"
)


class GameProcess:
    """A game that was started here by a command, in which "{port}" is replaced.

    On Linux, a mark in the environment finds it and everything that it starts, under Wine, too; a reaper ends them
    when this process has ended, however it ended. On Windows, it is the game whose parent is the launcher.
    """

    def __init__(self, command: str, port: int):
        self.command, self._mark = command.replace(PORT, str(port)), uuid.uuid4().hex
        self._reaper: Reaper | None = None
        self._seen: set[int] = set()
        # Windows programs split their command line themselves, so they get it as it is written
        words = self.command if WINDOWS else shlex.split(self.command)
        try:
            self._launcher = subprocess.Popen(
                words,
                env={**os.environ, VARIABLE: self._mark},
                stdin=subprocess.DEVNULL,
                start_new_session=not WINDOWS,  # Ctrl-C in a terminal reaches the run, which then closes the game
            )
        except OSError as error:
            raise MusterError(f"env_args.launch: {self.command} cannot be started: {error}") from None
        if not WINDOWS:
            self._reaper = Reaper(REAPER, self._mark)

    @property
    def alive(self) -> bool:
        if self._launcher.poll() is None:
            return True
        return bool(self._found() if WINDOWS else self._marked())

    def kill(self) -> None:
        """End the launcher and the game, and wait until they are gone; may be called twice."""
        if WINDOWS:
            for pid in [self._launcher.pid, *self._found()]:
                subprocess.run(["taskkill", "/PID", str(pid), "/T", "/F"], capture_output=True, check=False)
        else:
            deadline = time.monotonic() + GONE_SECONDS
            while (self._marked() or self._ending()) and time.monotonic() < deadline:
                kill_all(self._mark)
                self._launcher.poll()
                time.sleep(0.02)
            if self._reaper is not None:
                self._reaper.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._launcher.wait(GONE_SECONDS)

    def _marked(self) -> set[int]:
        """Linux: its processes, without those that are ending."""
        marked = {pid for pid in processes_of(self._mark) if not _has_ended(pid)}
        self._seen |= marked
        return marked

    def _ending(self) -> set[int]:
        """Linux: its processes that have not ended yet, although they may have lost their mark.

        A process that ends frees its memory, and the mark in it, before its port, which accepts connections until then.
        """
        self._seen = {pid for pid in self._seen if not _has_ended(pid)}
        return self._seen

    def _found(self) -> list[int]:
        """Windows: the games that the launcher has started, also if it has ended since."""
        script = FIND_GAME.format(parent=self._launcher.pid)
        answer = subprocess.run(
            ["powershell", "-NoProfile", "-Command", script], capture_output=True, text=True, check=False
        )
        return [int(line) for line in answer.stdout.split() if line.isdigit()]


def _has_ended(pid: int) -> bool:
    """Whether no thread of a process runs."""
    threads = Path(f"/proc/{pid}/task")
    with contextlib.suppress(OSError):  # it ends meanwhile
        for thread in os.listdir(threads):
            with contextlib.suppress(OSError):
                if (threads / thread / "stat").read_text().rsplit(")", 1)[1].split()[0] not in "XZ":
                    return False
    return True


class StartLock:
    """Held from the start of a game to its first race: the window of one needs the focus once, while none other starts.

    Where files cannot be locked (Windows) it does nothing.
    """

    def __init__(self):
        self._file = None

    def acquire(self) -> None:
        """Wait for it; does nothing if it is held."""
        if self._file is None and fcntl is not None:
            path = Path(tempfile.gettempdir()) / f"muster-trackmania-{os.getuid()}.lock"
            self._file = path.open("w")
            fcntl.flock(self._file, fcntl.LOCK_EX)

    def release(self) -> None:
        """Let others start; does nothing if it is not held."""
        if self._file is not None:
            self._file.close()
            self._file = None
