"""Files that are never half-written, and names that are taken."""

import itertools
import os
from contextlib import suppress


def write_whole(path: str, content: bytes) -> None:
    """Write a file that is at every moment either the old one or the new one, for the user alone.

    Raises:
        OSError: it cannot be written; the old one is still there.
    """
    folder, name = os.path.split(path)
    unfinished = os.path.join(folder, f".{name}.{os.getpid()}.tmp")
    try:
        descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with open(descriptor, "wb") as file:
            file.write(content)
        os.replace(unfinished, path)
    except OSError:
        with suppress(OSError):
            os.unlink(unfinished)
        raise


def set_aside(path: str) -> None:
    """Rename a file to the first free of `<path>.1`, `<path>.2`, ..."""
    free = next(name for i in itertools.count(1) if not os.path.lexists(name := f"{path}.{i}"))
    os.rename(path, free)
