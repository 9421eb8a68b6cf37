"""Memory that a process shares with those it spawns."""

import mmap
import os
import tempfile
from multiprocessing.reduction import DupFd
from typing import Any


class NamelessMemory:
    """Memory that a process can share with those it spawns, and that is free when the last of them has ended.

    It is an open file that no folder lists: nothing remains, however a process ends. On Linux it never was on a
    disk (`memfd_create`) nor counts as /dev/shm, which containers keep small; elsewhere it is a deleted temporary file.

    Args:
        name: that the system's lists of memory show.
    """

    def __init__(self, name: str):
        if hasattr(os, "memfd_create"):
            self._file = os.memfd_create(name)
        else:
            with tempfile.TemporaryFile() as file:
                self._file = os.dup(file.fileno())

    @property
    def descriptor(self) -> int:
        """Of the open file, by which processes may lock it."""
        return self._file

    def grow(self, size: int) -> None:
        """Make it `size` bytes, zeros.

        Raises:
            OSError: there is not so much.
        """
        # taken now: a write to pages that the system then lacks would end the process without a word
        if hasattr(os, "posix_fallocate"):
            os.posix_fallocate(self._file, 0, size)
        else:
            os.ftruncate(self._file, size)

    def map(self) -> mmap.mmap:
        """All of it as a buffer, which outlives `close`."""
        return mmap.mmap(self._file, 0)

    def close(self) -> None:
        """Free it, after the last buffer of it has gone."""
        if self._file >= 0:
            os.close(self._file)
        self._file = -1

    def __getstate__(self) -> Any:
        return DupFd(self._file)

    def __setstate__(self, state: Any) -> None:
        self._file = state.detach()
