"""A simulator's process: started, watched, ended; and what it printed last."""

import contextlib
import os
import select
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from dots_simulator.layout import MEMORY_ARGUMENT
from envs.dots.faults import SimulatorFault
from envs.dots.places import Place
from utils.own_modules import HOME, PREFIX, SOURCE
from utils.processes.reaper import Reaper

REAPER = Path(__file__).with_name("reaper.py")
# where Muster is installed, the package for simulators stands alone in a folder
SOURCES = HOME / "simulators" / "python" if PREFIX else SOURCE
LAST_LINES, LAST_BYTES = 12, 4096
END_SECONDS = 5.0
SUFFIXES = ("", ".x86_64", ".x86", ".exe")
# the folder of simulators that come with Muster
OURS = "simulators"


def found(executable: str) -> Path | None:
    """The file of an executable, with the ending of Unity's builds if it has none; None: there is no such file.

    Those that come with Muster are found from any folder: `simulators/basic.py`.
    """
    given = Path(executable).expanduser()
    places = [given, HOME / given] if given.parts[:1] == (OURS,) else [given]
    return next(
        (one for path in places for end in SUFFIXES if (one := path.with_name(path.name + end)).is_file()), None
    )


def dismiss(reaper: Reaper) -> None:
    """Everything has been seen to; may be called twice."""
    reaper.tell("done")
    reaper.close()


class SimulatorProcess:
    """A simulator that was started here, in a process group of its own, with a reaper that ends it if this process is
    killed.

    A file that ends with .py is run by this Python, with `src/` on its path. It gets `memory` after `--memory-path`,
    and what it prints goes to `place.log`.
    """

    def __init__(self, executable: Path, args: Sequence[str], memory: str, place: Place):
        self._log = place.log
        program = [sys.executable, str(executable)] if executable.suffix == ".py" else [str(executable.resolve())]
        paths = [str(SOURCES), *filter(None, [os.environ.get("PYTHONPATH")])]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "PYTHONUNBUFFERED": "1"}
        self._reaper = Reaper(REAPER, str(place.path))
        try:
            descriptor = os.open(self._log, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_APPEND, 0o600)
            with open(descriptor, "wb") as log:
                self._process = subprocess.Popen(
                    [*program, *args, MEMORY_ARGUMENT, memory],
                    env=environment,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    # no session of its own: Linux shares out its time by session (autogroup), and who passes turns
                    # from one to the other waits for both shares
                    process_group=0,
                )
        except OSError as error:
            dismiss(self._reaper)
            raise SimulatorFault(f"The simulator {executable} cannot be started: {error.strerror}.") from None
        self.pid = self._process.pid
        self.descriptor: int | None = None
        with contextlib.suppress(OSError, AttributeError):  # before Linux 5.3
            self.descriptor = os.pidfd_open(self.pid)
        self._reaper.tell(str(self.pid))

    @property
    def alive(self) -> bool:
        if self.descriptor is not None and not select.select([self.descriptor], [], [], 0)[0]:
            return True
        return self._process.poll() is None

    def ending(self) -> str:
        """How it ended: its exit code or signal."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(END_SECONDS)
        code = self._process.returncode
        if code is None:
            return "still running"
        if code >= 0:
            return f"exit code {code}"
        try:
            return f"killed by {signal.Signals(-code).name}"
        except ValueError:
            return f"killed by signal {-code}"

    def last_lines(self) -> str:
        try:
            with self._log.open("rb") as log:
                log.seek(max(log.seek(0, os.SEEK_END) - LAST_BYTES, 0))
                lines = log.read().decode("utf-8", "replace").splitlines()
        except OSError:
            lines = []
        return "\n".join(
            "".join(c if c.isprintable() or c == "\t" else "�" for c in one) for one in lines[-LAST_LINES:]
        )

    def end(self, seconds: float = END_SECONDS) -> None:
        """Wait for its end, then kill it and all it started; may be called twice."""
        if self._process.returncode is None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(seconds)
        with contextlib.suppress(OSError):
            os.killpg(self.pid, signal.SIGKILL)
        self._process.wait()
        dismiss(self._reaper)
        if self.descriptor is not None:
            os.close(self.descriptor)
            self.descriptor = None
