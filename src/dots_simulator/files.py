"""Files that are memory."""

import errno
import mmap
import os
import re
from pathlib import Path

from dots_simulator.layout import LayoutError


def map_existing(path: Path, size: int) -> mmap.mmap:
    """A file of at least so many bytes that the trainer has made; no link but one to an open file of a process."""
    descriptor = _open(path)
    try:
        found = os.fstat(descriptor).st_size
        if found < size:
            raise LayoutError(f"the file {path} has {found} bytes; its header says {size}")
        return mmap.mmap(descriptor, size)
    finally:
        os.close(descriptor)


def map_new(path: Path, size: int) -> mmap.mmap:
    """A file of zeros for the user alone; an old one of that name is replaced."""
    path.unlink(missing_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        if hasattr(os, "posix_fallocate"):
            os.posix_fallocate(descriptor, 0, size)
        else:
            os.ftruncate(descriptor, size)
        return mmap.mmap(descriptor, size)
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    finally:
        os.close(descriptor)


def _open(path: Path) -> int:
    flags = os.O_RDWR | os.O_CLOEXEC
    try:
        return os.open(path, flags | os.O_NOFOLLOW)
    except OSError as error:
        # the only links that trainers make, see `sealed`; the system lets nobody open a file of somebody else's process
        if error.errno != errno.ELOOP or not re.fullmatch(r"/proc/\d+/fd/\d+", target := os.readlink(path)):
            raise
        return os.open(target, flags)
