"""Files that trainer and simulator share, read and written with the care that a file of another process needs.

Plain files are not mapped: a mapped file that somebody truncates ends whoever looks at it (SIGBUS). A read that finds
less than it should is an error like any other. Sealed files lie in memory of this process, and the system refuses to
truncate them, also to those who have them open.
"""

import contextlib
import errno
import fcntl
import mmap
import os
import stat
from pathlib import Path

from dots_simulator.layout import MAX_FILE_BYTES
from envs.dots.faults import SimulatorFault

_SAFELY = os.O_RDWR | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
# a file of so many bytes is read as a whole in each turn; of a bigger one only what is asked for
AT_ONCE = 2**14
# a bigger one would be copied for long, and copying its rows takes most of a turn anyway
MOST_SEALED_BYTES = 2**26


class SharedFile:
    """An open file of `size` bytes, beyond which nothing is touched; `file[a:b]` are bytes of it.

    `memory` is a buffer of its length: `refresh` reads what a turn has changed into it, or, if `in_parts`, `load` does
    where something is looked at; `store` writes from it. Whatever reads raises `SimulatorFault` if the file has become
    shorter.
    """

    # whether `memory` is the file itself, which needs no reading and writing
    is_mapped = False

    def __init__(self, descriptor: int, path: Path, size: int):
        self.descriptor, self.path, self._size = descriptor, path, size
        self.memory: memoryview | mmap.mmap = memoryview(bytearray(size))
        self.in_parts = size > AT_ONCE

    @classmethod
    def create(cls, path: Path, content: bytes, size: int | None = None) -> "SharedFile":
        """Make a file that only this user can read and write; zeros follow the content up to `size`.

        It appears under its name when its content is complete, so that a simulator never finds half of it. Raises
        OSError: something is there, or there is no room, or no such folder.
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
        """Open a plain file of at least so many bytes that a simulator made; `what` it is, for messages."""
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
        begin, end, _ = part.indices(self._size)
        size = max(end - begin, 0)
        found = os.pread(self.descriptor, size, begin)
        while len(found) < size:  # the system reads at most 2 GB at once
            more = os.pread(self.descriptor, size - len(found), begin + len(found))
            if not more:
                raise self._shorter(begin + size)
            found += more
        return found

    def refresh(self) -> None:
        if not self.in_parts and os.preadv(self.descriptor, [self.memory], 0) < self._size:
            raise self._shorter(self._size)

    def load(self, offset: int, size: int) -> None:
        if size and os.preadv(self.descriptor, [self.memory[offset : offset + size]], offset) < size:
            raise self._shorter(offset + size)

    def store(self, offset: int, size: int) -> None:
        self.write(offset, self.memory[offset : offset + size])

    def number(self, offset: int) -> memoryview:
        """The int32 at an offset of `memory`, as a view of one item."""
        return memoryview(self.memory)[offset : offset + 4].cast("i")

    def write(self, offset: int, content: bytes | memoryview) -> None:
        write(self.descriptor, content, offset)

    def close(self) -> None:
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1

    def _shorter(self, needed: int) -> SimulatorFault:
        size = os.fstat(self.descriptor).st_size
        return SimulatorFault(f"the file {self.path} has shrunk to {size} bytes; {needed} are needed")


class SealedFile(SharedFile):
    """A file of this process's own, to which a link leads others: `<path>` -> `/proc/<process>/fd/<descriptor>`.

    `memory` is the file itself, mapped as long as there are views of it.
    """

    memory: mmap.mmap
    is_mapped = True

    def __init__(self, descriptor: int, path: Path, size: int):
        self.descriptor, self.path, self._size = descriptor, path, size
        self.memory = mmap.mmap(descriptor, size)
        self.in_parts = False

    @classmethod
    def create(cls, path: Path, content: bytes, size: int | None = None) -> "SealedFile":
        """Raises OSError also where this system seals no files, or no links can be made there."""
        if not hasattr(os, "memfd_create"):
            raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
        size = len(content) if size is None else size
        descriptor = os.memfd_create("muster-dots", os.MFD_ALLOW_SEALING | os.MFD_CLOEXEC)
        try:
            os.fchmod(descriptor, 0o600)
            os.posix_fallocate(descriptor, 0, size)
            write(descriptor, content, 0)
            fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL)
            made = cls(descriptor, path, size)
            os.symlink(f"/proc/{os.getpid()}/fd/{descriptor}", path)
        except BaseException:
            os.close(descriptor)
            raise
        return made

    def peek(self, size: int) -> bytes:
        return self.memory[:size]

    def write(self, offset: int, content: bytes | memoryview) -> None:
        self.memory[offset : offset + len(content)] = content


def remove(path: Path) -> None:
    with contextlib.suppress(OSError):
        path.unlink()


def write(descriptor: int, content: bytes | memoryview, offset: int) -> None:
    """Write all bytes, in as many calls of the system as it takes."""
    written = os.pwrite(descriptor, content, offset) if content else 0
    while written < len(content):
        written += os.pwrite(descriptor, content[written:], offset + written)
