"""Reading files that somebody else has named or written: no device or pipe is waited for, nothing endless is read."""

import os
import stat
from pathlib import Path


def read_regular(path: str | Path, largest: int) -> bytes:
    """The bytes of a regular file.

    Raises:
        OSError: it is not there, no regular file, or longer than `largest` bytes; `strerror` says so.
    """
    try:
        # a pipe nobody writes into would be waited for
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    except ValueError as error:  # a NUL in the name
        raise OSError(None, str(error), str(path)) from None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(None, "it is not a regular file", str(path))
    with os.fdopen(descriptor, "rb") as file:
        data = file.read(largest + 1)
    if len(data) > largest:
        raise OSError(None, f"it is longer than {largest} bytes", str(path))
    return data
