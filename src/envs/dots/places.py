"""Where the files lie that a trainer and a simulator share, who owns them, and that they do not outlive both."""

import contextlib
import fcntl
import os
import re
import tempfile
import uuid
from pathlib import Path

from dots_simulator import wake
from dots_simulator.layout import EDITOR_FILE, FOLDER, LOCK
from dots_simulator.sealed import SEALED
from utils.errors import MusterError

SHARED_MEMORY = Path("/dev/shm")
LOG = ".log"
# what belongs to a first file PATH: itself, PATH and underscores, and these
_OTHERS = (LOG, LOCK, wake.TO_SIMULATOR, wake.TO_TRAINER, wake.AWAKE, SEALED)
_FAMILY = re.compile(r"(_*)(\.new)?|" + "|".join(map(re.escape, _OTHERS)))


def own_folder() -> Path:
    """The folder for simulators that take a path: in memory, this user's only."""
    base = SHARED_MEMORY if os.access(SHARED_MEMORY, os.W_OK | os.X_OK) else Path(tempfile.gettempdir())
    folder = base / f"muster-dots-{os.getuid()}"
    with contextlib.suppress(FileExistsError):
        folder.mkdir(mode=0o700)
    about = folder.lstat()
    if folder.is_symlink() or not folder.is_dir() or about.st_uid != os.getuid():
        raise MusterError(f"{folder} is not a folder of yours. Remove it.")
    folder.chmod(0o700)
    return folder


def common_folder() -> Path:
    """The folder in which foreign builds look for the names they are given: `<temp>/ml-agents`, as /tmp for all."""
    folder = Path(tempfile.gettempdir()) / FOLDER
    with contextlib.suppress(FileExistsError):
        folder.mkdir()
        folder.chmod(0o1777)
    if not os.access(folder, os.W_OK | os.X_OK):
        raise MusterError(f"{folder}, where builds look for their file, cannot be written to. Set TMPDIR to a folder.")
    return folder


class TakenError(MusterError):
    """Another trainer uses the files. It will for a while, so trying again at once does not help."""

    incurable = True


class Place:
    """A path for a first file, a new one if it has no name, which nobody else uses; its lock is held until `free`, or
    until this process ends."""

    def __init__(self, folder: Path, name: str | None = None):
        sweep(folder)
        self.path = folder / (name or uuid.uuid4().hex)
        try:
            self._lock = _lock(Path(f"{self.path}{LOCK}"))
        except OSError as error:
            raise MusterError(f"Files for a simulator cannot be made in {folder}: {error.strerror}.") from None
        if self._lock is None:
            holder = _holder(Path(f"{self.path}{LOCK}"))
            raise TakenError(
                f"Another trainer, {holder}, uses {self.path}. End it first, or start the "
                "simulator from here: env_args.executable=PATH."
            )
        # what a trainer left there that was killed
        remove_family(self.path, keep=LOCK)

    @property
    def log(self) -> Path:
        """For what the simulator prints."""
        return Path(f"{self.path}{LOG}")

    def free(self) -> None:
        """Remove all files that belong to it, and its lock; may be called twice."""
        if self._lock is not None:
            remove_family(self.path)
            os.close(self._lock)
            self._lock = None


def editor_place() -> Place:
    """The one where the editor looks."""
    return Place(common_folder(), EDITOR_FILE)


def remove_family(path: Path, keep: str = "") -> None:
    """Remove a first file and all that belongs to it, except what ends with `keep`."""
    for name in _names(path.parent):
        rest = name.removeprefix(path.name)
        if name.startswith(path.name) and _FAMILY.fullmatch(rest) and not (keep and rest == keep):
            with contextlib.suppress(OSError):
                (path.parent / name).unlink()


def sweep(folder: Path) -> None:
    """Remove what trainers of this user have left in a folder that were killed together with their reapers."""
    for name in _names(folder):
        path = folder / name
        if not name.endswith(LOCK) or name.startswith(EDITOR_FILE):
            continue
        with contextlib.suppress(OSError):
            if path.lstat().st_uid == os.getuid() and (descriptor := _lock(path, make=False)) is not None:
                remove_family(path.with_name(name.removesuffix(LOCK)))
                os.close(descriptor)


def _names(folder: Path) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


def _lock(path: Path, make: bool = True) -> int | None:
    """The descriptor of a lock file that this process now holds; None: another process does."""
    while True:
        flags = os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK | (os.O_CREAT if make else 0)
        descriptor = os.open(path, flags, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(descriptor)
            return None
        # its holder may have removed it meanwhile: then another one has the name, or none
        with contextlib.suppress(OSError):
            if os.stat(path).st_ino == os.fstat(descriptor).st_ino:
                os.ftruncate(descriptor, 0)
                os.pwrite(descriptor, str(os.getpid()).encode(), 0)
                return descriptor
        os.close(descriptor)
        if not make:
            return None


def _holder(path: Path) -> str:
    try:
        number = path.read_text().strip()
    except OSError:
        number = ""
    return f"process {number}" if number.isdigit() else "another process"
