"""Which cores and cards of this machine runs have, whatever launcher, suite or folder of results they are of.

Each slot is a file in a folder of the machine, locked by those who have it: the launcher that chose it, then the run's
supervisor and the run. A lock ends with its processes, however they end: a file that nobody has locked is left over.
"""

import contextlib
import hashlib
import json
import os
import stat
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path

from suites.state.state import Attempt, SuiteFolder
from utils.files.regular_files import read_regular

try:
    import fcntl
except ImportError:  # Windows, where suites are looked at and no run starts
    fcntl = None  # type: ignore[assignment]

LOCK = "lock"
# seconds to wait for others that choose; one that was suspended meanwhile is not waited for longer
PATIENCE = 2.0
_LARGEST = 2**16


@dataclass(frozen=True)
class Slot:
    """What one run has.

    Attributes:
        cores: that it is pinned to.
        gpus: names of cards, as CUDA_VISIBLE_DEVICES has them; `share`: of each of them.
    """

    cores: list[int] = field(default_factory=list)
    gpus: list[str] = field(default_factory=list)
    share: float = 0.0


class Slots:
    """The slots of one machine, for one launcher."""

    def __init__(self) -> None:
        self._folder = folder_of_machine()
        self._held: dict[str, int] = {}

    @contextlib.contextmanager
    def alone(self) -> Iterator[None]:
        """No other launcher of this machine chooses a slot meanwhile."""
        with contextlib.ExitStack() as stack:
            with contextlib.suppress(OSError):
                lock = stack.enter_context(open(_made(self._folder) / LOCK, "ab"))
                deadline = time.monotonic() + PATIENCE
                while not _locked(lock.fileno(), fcntl.LOCK_EX) and time.monotonic() < deadline:
                    time.sleep(0.005)
            yield

    def taken(self) -> list[Slot] | None:
        """The slots that runs have, for who is `alone`; None: without a folder or locks, it cannot be known."""
        try:
            _made(self._folder)
            return [slot for name in os.listdir(self._folder) if name != LOCK for slot in self._at(name)]
        except OSError:
            return None

    def take(self, folder: SuiteFolder, attempt: Attempt, slot: Slot) -> None:
        """Take a slot for an attempt, until `give` or the end of this process."""
        if not slot.cores and not slot.gpus:
            return
        name = _name(folder, attempt)
        with contextlib.suppress(OSError):
            descriptor = _opened(self._folder / name, os.O_CREAT)
            _locked(descriptor, fcntl.LOCK_SH)
            os.write(descriptor, json.dumps(asdict(slot)).encode())
            self._held[name] = descriptor

    def give(self, folder: SuiteFolder, attempt: Attempt) -> None:
        """Leave the slot to the attempt's supervisor, which has locked it, or has ended."""
        if (descriptor := self._held.pop(_name(folder, attempt), None)) is not None:
            os.close(descriptor)

    def _at(self, name: str) -> Iterator[Slot]:
        """The slot in a file; none if its processes have ended, or it is damaged."""
        with contextlib.suppress(FileNotFoundError):
            descriptor = _opened(self._folder / name)
            try:
                if _locked(descriptor, fcntl.LOCK_EX):
                    os.unlink(self._folder / name)
                    return
            finally:
                os.close(descriptor)
            with contextlib.suppress(ValueError, TypeError):
                yield Slot(**json.loads(read_regular(self._folder / name, _LARGEST)))


class HeldSlot:
    """The slot of an attempt, if its launcher took one: this process has it, and what it forks."""

    def __init__(self, folder: SuiteFolder, attempt: Attempt):
        self._path, self._descriptor = folder_of_machine() / _name(folder, attempt), -1
        with contextlib.suppress(OSError):
            self._descriptor = _opened(self._path)
            # not at once: a launcher may be looking whether anybody has it
            fcntl.flock(self._descriptor, fcntl.LOCK_SH)

    def leave(self) -> None:
        """Others may have it."""
        if self._descriptor >= 0:
            with contextlib.suppress(OSError):
                os.unlink(self._path)
            os.close(self._descriptor)


def folder_of_machine() -> Path:
    """This user's folder of slots; its name is older than the word, and launchers of before may be under way."""
    return Path(tempfile.gettempdir()) / f"muster-places-{os.getuid()}"


def _made(folder: Path) -> Path:
    """The folder, which is there. Raises: OSError: it is not, or it is another user's."""
    folder.mkdir(mode=0o700, exist_ok=True)
    status = folder.lstat()
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid():
        raise PermissionError(f"{folder} is another user's.")
    return folder


def _name(folder: SuiteFolder, attempt: Attempt) -> str:
    whole = str(folder.place(attempt.run, attempt.number).absolute())
    return hashlib.sha256(whole.encode()).hexdigest()[:24]


def _opened(path: Path, flags: int = 0) -> int:
    return os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC | flags, 0o600)


def _locked(descriptor: int, kind: int) -> bool:
    """Whether a file could be locked at once. Raises: OSError: this file system has no locks."""
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
