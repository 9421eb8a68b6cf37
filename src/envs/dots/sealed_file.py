"""Files that the trainer may map: they lie in memory and are sealed, so that nobody can make them shorter.

Whoever looks at a mapped file that somebody truncates is ended by the system (SIGBUS). Of a sealed file the system
refuses to truncate it, also to those who have it open.
"""

import errno
import fcntl
import mmap
import os
from pathlib import Path

from envs.dots.shared_file import SharedFile, write

# a bigger one would be copied for long, and copying its rows takes most of a turn anyway
MOST_SEALED_BYTES = 2**26


class SealedFile(SharedFile):
    """A file of this process's own, to which a link leads others: `<path>` -> `/proc/<process>/fd/<descriptor>`.

    Args:
        descriptor: which is closed with it; the map stays as long as there are views of it.
        path: of the link.
        size: its length in bytes.
    """

    def __init__(self, descriptor: int, path: Path, size: int):
        super().__init__(descriptor, path, size)
        self.map = mmap.mmap(descriptor, size)

    @classmethod
    def create(cls, path: Path, content: bytes, size: int | None = None) -> "SealedFile":
        """As of `SharedFile`.

        Raises:
            FileExistsError: something is there.
            OSError: this system seals no files, or there is no room, or no links can be made there.
        """
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
        """The first bytes."""
        return self.map[:size]

    def write(self, offset: int, content: bytes) -> None:
        """Write bytes."""
        self.map[offset : offset + len(content)] = content

    def number(self, offset: int) -> memoryview:
        """The int32 at an offset, as a view of one item, which shows what the file has at that moment."""
        return memoryview(self.map)[offset : offset + 4].cast("i")
