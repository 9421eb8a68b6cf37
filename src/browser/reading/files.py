"""The one way to the files of a results folder: regular files only, over no links, and none longer than its kind is."""

import os
import stat
from pathlib import Path
from typing import BinaryIO

from records.limits import LARGEST
from utils.errors import ConfigError
from utils.files.regular_files import open_regular, problem_of, read_regular


class OutsideResultsError(ConfigError):
    """A name leads out of the results folder, or over a link."""


def inside(root: Path, *names: str | Path) -> Path:
    """Join names to `root` and return the path if it is below `root` and no link is on the way (it need not exist).

    Links are refused, wherever they lead: results may come from others.

    Raises:
        OutsideResultsError: it is not, or a name cannot be one (a NUL byte, `..`).
    """
    root = root.resolve()
    path = root.joinpath(*names)
    if not path.is_relative_to(root) or ".." in path.relative_to(root).parts or _over_a_link(root, path):
        quoted = "/".join(str(name) for name in names)
        raise OutsideResultsError(f"{quoted[:300]!r} is not a path inside the results folder, or it contains a link.")
    return path


def _over_a_link(root: Path, path: Path) -> bool:
    """Whether a part of the path below `root` is a link, or is unfit for a name."""
    current = str(root)
    for name in path.relative_to(root).parts:
        current = os.path.join(current, name)
        try:
            if stat.S_ISLNK(os.lstat(current).st_mode):
                return True
        except (FileNotFoundError, NotADirectoryError):
            return False
        except (OSError, ValueError):
            return True
    return False


def is_file_name(name: str) -> bool:
    """Whether `name` is one plain component of a path, as a run's token must be."""
    return bool(name) and name not in (".", "..") and not any(c in name for c in "/\\\0") and len(name) < 256


def entries_of(root: Path, *names: str | Path) -> list[os.DirEntry]:
    """The entries of a folder below `root`, sorted by name; empty if it does not exist or lies behind a link."""
    try:
        with os.scandir(inside(root, *names)) as listing:
            return sorted(listing, key=lambda entry: entry.name)
    except (OSError, OutsideResultsError):
        return []


def subfolders(root: Path, *names: str | Path) -> list[str]:
    """Names of the folders in a folder below `root`, sorted; links are left out."""
    return [entry.name for entry in entries_of(root, *names) if entry.is_dir(follow_symlinks=False)]


class ResultsFiles:
    """The files below a results folder, named by paths relative to it; the last name decides how long one may be.

    What cannot be read is an OSError whose `strerror` says why.

    Args:
        root: resolved.
    """

    def __init__(self, root: Path):
        self._root = root

    def read(self, *names: str | Path) -> bytes:
        """All bytes of a file of one of the kinds that LARGEST has."""
        path = self._path(*names)
        return read_regular(path, LARGEST[path.name])

    def open(self, *names: str | Path, largest: int | None = None) -> BinaryIO:
        """A file of at most `largest` bytes, opened for reading."""
        return open_regular(self._path(*names), largest)

    def end(self, last: int, *names: str | Path) -> bytes:
        """The last bytes of a file, however long it is."""
        with self.open(*names) as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - last))
            return file.read(last)

    def stamp(self, *names: str | Path) -> tuple[int, int] | None:
        """Size and modification time (nanoseconds) of a file that may be read; None for any other."""
        try:
            status = os.lstat(self._path(*names))
        except OSError:
            return None
        return None if problem_of(status, LARGEST.get(str(names[-1]))) else (status.st_size, status.st_mtime_ns)

    def problem(self, *names: str | Path) -> str:
        """Why an existing file is not read, as a sentence; empty if it is read, or missing."""
        try:
            problem = problem_of(os.lstat(self._path(*names)), LARGEST.get(str(names[-1])))
        except FileNotFoundError:
            return ""
        except OSError as error:
            problem = str(error.strerror)
        return not_read(str(Path(*names)), problem) if problem else ""

    def _path(self, *names: str | Path) -> Path:
        try:
            return inside(self._root, *names)
        except OutsideResultsError:
            raise OSError(None, "a link is on its path", str(Path(*names))) from None


def not_read(name: str, why: str | None) -> str:
    """The sentence in a session's problems on a file that was not opened."""
    return f"{name} is not read: {why}."
