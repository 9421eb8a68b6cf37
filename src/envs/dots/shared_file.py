"""Files that trainer and simulator share, read and written with the care that a file of another process needs.

They are not mapped here: a mapped file that somebody truncates ends whoever looks at it (SIGBUS). A read that finds
less than it should is an error like any other. Those that `sealed_file` makes cannot be truncated.
"""

import contextlib
import os
import stat
from pathlib import Path

import numpy as np

from dots_simulator.layout import MAX_FILE_BYTES
from envs.dots.faults import SimulatorFault

_SAFELY = os.O_RDWR | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)


class SharedFile:
    """An open file; `file[a:b]` are bytes of it, as of a buffer of `len(file)`.

    Args:
        descriptor: which is closed with it.
        path: for messages.
        size: its length in bytes, of which nothing beyond is touched.
    """

    def __init__(self, descriptor: int, path: Path, size: int):
        self.descriptor, self.path, self._size = descriptor, path, size

    @classmethod
    def create(cls, path: Path, content: bytes, size: int | None = None) -> "SharedFile":
        """Make a file that only this user can read and write.

        It appears under its name when its content is complete, so that a simulator never finds half of it.

        Args:
            path: where nothing is yet.
            content: its first bytes.
            size: its length; zeros follow the content. None: that of the content.

        Raises:
            FileExistsError: something is there.
            OSError: there is no room, or no such folder.
        """
        size = len(content) if size is None else size
        before = path.with_name(f"{path.name}.new")
        descriptor = os.open(before, _SAFELY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            # taken now: a simulator that maps pages which the system then lacks would end without a word
            if hasattr(os, "posix_fallocate"):
                os.posix_fallocate(descriptor, 0, size)
            else:
                os.ftruncate(descriptor, size)
            write(descriptor, content, 0)
            os.link(before, path)
        except BaseException:
            os.close(descriptor)
            raise
        finally:
            os.unlink(before)
        return cls(descriptor, path, size)

    @classmethod
    def open(cls, path: Path, least: int, what: str) -> "SharedFile":
        """Open a file that a simulator made.

        Args:
            path: of a plain file.
            least: bytes that it must have.
            what: it is, for the message.

        Raises:
            SimulatorFault: it is not there, is no plain file, or has another size.
        """
        try:
            descriptor = os.open(path, _SAFELY)
        except OSError as error:
            raise SimulatorFault(f"{what} {path} cannot be opened: {error.strerror}") from None
        about = os.fstat(descriptor)
        if not stat.S_ISREG(about.st_mode):
            os.close(descriptor)
            raise SimulatorFault(f"{what} {path} is no plain file")
        if not max(least, 1) <= about.st_size <= MAX_FILE_BYTES:
            os.close(descriptor)
            raise SimulatorFault(
                f"{what} {path} has {about.st_size} bytes; it must have {max(least, 1)} to {MAX_FILE_BYTES}"
            )
        with contextlib.suppress(OSError):  # it is this user's only, whatever the simulator made it
            os.fchmod(descriptor, 0o600)
        return cls(descriptor, path, about.st_size)

    def __len__(self) -> int:
        return self._size

    def peek(self, size: int) -> bytes:
        """The first bytes, or fewer if it has become shorter."""
        return os.pread(self.descriptor, size, 0)

    def __getitem__(self, part: slice) -> bytes:
        """
        Raises:
            SimulatorFault: the file has become shorter.
        """
        begin, end, _ = part.indices(self._size)
        size = max(end - begin, 0)
        found = os.pread(self.descriptor, size, begin)
        while len(found) < size:  # the system reads at most 2 GB at once
            more = os.pread(self.descriptor, size - len(found), begin + len(found))
            if not more:
                raise self.shorter(begin + size)
            found += more
        return found

    def fill(self, array: np.ndarray, offset: int) -> np.ndarray:
        """Read a contiguous array's bytes into it; returns it.

        Raises:
            SimulatorFault: the file has become shorter.
        """
        if array.nbytes:
            found = os.preadv(self.descriptor, [array], offset)
            if found < array.nbytes:
                raise self.shorter(offset + array.nbytes)
        return array

    def write(self, offset: int, content: bytes | np.ndarray) -> None:
        """Write bytes, or those of a contiguous array."""
        size = content.nbytes if isinstance(content, np.ndarray) else len(content)
        if size and os.pwrite(self.descriptor, content, offset) != size:
            write(self.descriptor, content, offset)

    def close(self) -> None:
        """May be called twice."""
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1

    def shorter(self, needed: int) -> SimulatorFault:
        """What to raise where bytes up to `needed` could not be read."""
        size = os.fstat(self.descriptor).st_size
        return SimulatorFault(f"the file {self.path} has shrunk to {size} bytes; {needed} are needed")


def remove(path: Path) -> None:
    """Remove a file, if it is there."""
    with contextlib.suppress(OSError):
        path.unlink()


def write(descriptor: int, content: bytes | np.ndarray, offset: int) -> None:
    """Write all bytes, in as many calls of the system as it takes."""
    written = os.pwrite(descriptor, content, offset)
    size = content.nbytes if isinstance(content, np.ndarray) else len(content)
    while written < size:
        written += os.pwrite(descriptor, memoryview(content).cast("B")[written:], offset + written)
