"""Reading files that others have named or written, without waiting for a device or pipe, or reading endlessly."""

import errno
import os
import stat
from io import BufferedReader
from pathlib import Path

from utils.errors import ConfigError
from utils.sizes import readable_size

_KINDS = {
    stat.S_IFLNK: "a link",
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


def problem_of(status: os.stat_result, largest: int | None = None) -> str:
    """Why a file with this `lstat` is not read: it is not a regular file, or is longer than `largest` bytes.

    Returns:
        The end of a sentence, such as "it is not a regular file but a link"; empty if the file may be read.
    """
    kind = stat.S_IFMT(status.st_mode)
    if kind != stat.S_IFREG:
        return f"it is not a regular file but {_KINDS.get(kind, 'something else')}"
    if largest is not None and status.st_size > largest:
        return f"it is {readable_size(status.st_size)} long, longer than {largest} bytes"
    return ""


def open_regular(path: str | Path, largest: int | None = None, follow_links: bool = False) -> BufferedReader:
    """Open a regular file for reading.

    Args:
        path: its folders' links are followed; callers that distrust them check before (`browser.reading.files`).
        largest: refuse a file that is longer, in bytes.
        follow_links: open the target of a link if it is a regular file; otherwise links are refused.

    Raises:
        OSError: it is not there, not a regular file, or too long; `strerror` says so.
    """
    # opening a pipe without a writer would wait
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    try:
        descriptor = os.open(path, flags if follow_links else flags | getattr(os, "O_NOFOLLOW", 0))
    except ValueError as error:  # a NUL in the name
        raise OSError(None, str(error), str(path)) from None
    except OSError as error:
        # a link at the end of the path raises ELOOP (EMLINK on FreeBSD); a socket cannot be opened at all
        if error.errno in (errno.ELOOP, errno.EMLINK, errno.ENXIO) and (problem := _problem_at(path)):
            raise OSError(None, problem, str(path)) from None
        raise
    if problem := problem_of(os.fstat(descriptor), largest):
        os.close(descriptor)
        raise OSError(None, problem, str(path))
    return os.fdopen(descriptor, "rb")


def read_regular(path: str | Path, largest: int, follow_links: bool = False) -> bytes:
    """The bytes of a regular file, see `open_regular`.

    Raises:
        OSError: it is not there, not a regular file, or longer than `largest` bytes; `strerror` says so.
    """
    with open_regular(path, largest, follow_links) as file:
        data = file.read(largest + 1)
    if len(data) > largest:  # it has grown since it was opened
        raise OSError(None, f"it is longer than {largest} bytes", str(path))
    return data


def read_text(path: str | Path, largest: int) -> str:
    """The text of a file that a user has named, in UTF-8; links are followed.

    Raises:
        ConfigError: it cannot be read, is longer than `largest` bytes, or is not UTF-8.
    """
    try:
        return read_regular(path, largest, follow_links=True).decode("utf-8")
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: not a UTF-8 text file (byte {error.start}).") from None
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read ({error.strerror}).") from None


def _problem_at(path: str | Path) -> str:
    try:
        return problem_of(os.lstat(path))
    except OSError:
        return ""
