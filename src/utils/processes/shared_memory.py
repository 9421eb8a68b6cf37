"""Memory that processes share: without a name, for those that a process spawns, or as a file that any program maps."""

import contextlib
import mmap
import os
import tempfile
import weakref
from multiprocessing.reduction import DupFd
from pathlib import Path
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
        _allocate(self._file, size)

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


class NamedMemory:
    """A file in a private folder that other programs map by its path; removed by `close`, at exit at the latest.

    The file is the user's alone. /dev/shm is the folder whose files stay in memory; in any other the system may write
    them to the disk.

    Args:
        path: of the file, which must not exist.
        size: bytes, zeros at first.

    Raises:
        FileExistsError: there is something of that name, a link perhaps.
        OSError: the folder does not exist, or has not so much room.
    """

    def __init__(self, path: str | Path, size: int):
        self.path = Path(path)
        descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0), 0o600)
        self._remove = weakref.finalize(self, _remove, self.path)
        try:
            _allocate(descriptor, size)
            self.buffer = mmap.mmap(descriptor, size)
        except BaseException:
            self._remove()
            raise
        finally:
            os.close(descriptor)

    def close(self) -> None:
        """Remove the file; may be called twice. Memory that arrays still show, here or elsewhere, lives as they do."""
        with contextlib.suppress(BufferError):  # an array shows it
            self.buffer.close()
        self._remove()

    def __enter__(self) -> "NamedMemory":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()


def map_file(path: str | Path) -> mmap.mmap:
    """The whole of a file that another process has made as `NamedMemory`, as a buffer.

    Raises:
        OSError: there is no such file, or it is a link.
        ValueError: it is empty.
    """
    descriptor = os.open(path, os.O_RDWR | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    try:
        return mmap.mmap(descriptor, 0)
    finally:
        os.close(descriptor)


def _allocate(descriptor: int, size: int) -> None:
    # taken now: a write to pages that the system then lacks would end the process without a word
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(descriptor, 0, size)
    else:
        os.ftruncate(descriptor, size)


def _remove(path: Path) -> None:
    with contextlib.suppress(OSError):
        path.unlink()
