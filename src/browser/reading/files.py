"""The one way to the files of a results folder: regular files only, over no links, and none longer than its kind is."""

import os
from pathlib import Path
from typing import BinaryIO

from browser.reading.paths import OutsideResultsError, inside
from records.limits import LARGEST
from utils.files.regular_files import open_regular, problem_of, read_regular


class ResultsFiles:
    """The files below a results folder, named by paths relative to it; the last name decides how long one may be.

    Args:
        root: resolved.
    """

    def __init__(self, root: Path):
        self._root = root

    def read(self, *names: str | Path) -> bytes:
        """All bytes of a file of one of the kinds that LARGEST has.

        Raises:
            OSError: it is missing or not to be read; `strerror` says why.
        """
        path = self._path(*names)
        return read_regular(path, LARGEST[path.name])

    def open(self, *names: str | Path, largest: int | None = None) -> BinaryIO:
        """A file of at most `largest` bytes, opened for reading.

        Raises:
            OSError: it is missing or not to be read; `strerror` says why.
        """
        return open_regular(self._path(*names), largest)

    def end(self, last: int, *names: str | Path) -> bytes:
        """The last bytes of a file, however long it is.

        Raises:
            OSError: it is missing or not to be read; `strerror` says why.
        """
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
            problem = error.strerror
        return not_read(str(Path(*names)), problem) if problem else ""

    def _path(self, *names: str | Path) -> Path:
        try:
            return inside(self._root, *names)
        except OutsideResultsError:
            raise OSError(None, "a link is on its path", str(Path(*names))) from None


def not_read(name: str, why: str | None) -> str:
    """The sentence in a run's problems on a file that was not opened."""
    return f"{name} is not read: {why}."
