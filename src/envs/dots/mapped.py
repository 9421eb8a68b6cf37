"""Files in memory that trainer and simulator map, opened with the care that a file of another process needs."""

import contextlib
import mmap
import os
import stat
from pathlib import Path

from dots_simulator.layout import MAX_FILE_BYTES
from envs.dots.faults import SimulatorFault

_NO_LINK = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)


def create(path: Path, content: bytes, size: int | None = None) -> mmap.mmap:
    """Make a file that only this user can read and write, and map it.

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
    descriptor = os.open(before, os.O_RDWR | os.O_CREAT | os.O_EXCL | _NO_LINK, 0o600)
    try:
        # taken now: a write to pages that the system then lacks would end the process without a word
        if hasattr(os, "posix_fallocate"):
            os.posix_fallocate(descriptor, 0, size)
        else:
            os.ftruncate(descriptor, size)
        os.pwrite(descriptor, content, 0)
        mapped = mmap.mmap(descriptor, size)
        os.link(before, path)
    finally:
        os.close(descriptor)
        os.unlink(before)
    return mapped


def open_file(path: Path, least: int, what: str) -> mmap.mmap:
    """Map the whole of a file that a simulator made.

    Args:
        path: of a plain file.
        least: bytes that it must have.
        what: it is, for the message.

    Raises:
        SimulatorFault: it is not there, is no plain file, or has another size.
    """
    try:
        descriptor = os.open(path, os.O_RDWR | _NO_LINK)
    except OSError as error:
        raise SimulatorFault(f"{what} {path} cannot be opened: {error.strerror}") from None
    try:
        about = os.fstat(descriptor)
        if not stat.S_ISREG(about.st_mode):
            raise SimulatorFault(f"{what} {path} is no plain file")
        if not max(least, 1) <= about.st_size <= MAX_FILE_BYTES:
            raise SimulatorFault(
                f"{what} {path} has {about.st_size} bytes; it must have {max(least, 1)} to {MAX_FILE_BYTES}"
            )
        with contextlib.suppress(OSError):  # it is this user's only, whatever the simulator made it
            os.fchmod(descriptor, 0o600)
        return mmap.mmap(descriptor, about.st_size)
    except (OSError, ValueError) as error:
        raise SimulatorFault(f"{what} {path} cannot be mapped: {error}") from None
    finally:
        os.close(descriptor)


def let_go(mapped: mmap.mmap | None) -> None:
    """Unmap a file, now or as soon as the last array that shows it is gone."""
    if mapped is not None:
        with contextlib.suppress(BufferError):
            mapped.close()


def remove(path: Path) -> None:
    """Remove a file, if it is there."""
    with contextlib.suppress(OSError):
        path.unlink()
