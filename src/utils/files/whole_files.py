"""Files that are never half-written, and names that are taken."""

import itertools
import os
import uuid
from contextlib import suppress


def write_whole(path: str, content: bytes) -> None:
    """Write a file that is at every moment either the old one or the new one, for the user alone.

    Raises:
        OSError: it cannot be written; the old one is still there.
    """
    folder, name = os.path.split(path)
    # processes of two machines that share a folder may have the same number
    unfinished = os.path.join(folder, f".{name}.{os.urandom(4).hex()}.tmp")
    try:
        descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with open(descriptor, "wb") as file:
            file.write(content)
        os.replace(unfinished, path)
    except OSError:
        with suppress(OSError):
            os.unlink(unfinished)
        raise


def create_whole(path: str, content: bytes) -> bool:
    """Create a file for the user alone, whole from its first moment; whether it was not there before.

    Of several processes that try, on whatever machines, one creates it.

    Raises:
        OSError: it cannot be written.
    """
    folder, name = os.path.split(path)
    whole = os.path.join(folder, f".{name}.{uuid.uuid4().hex}")
    write_whole(whole, content)
    try:
        os.link(whole, path)
    except FileExistsError:
        return False
    except OSError:  # a file system without links
        return _create_exclusively(path, content)
    finally:
        with suppress(OSError):
            os.unlink(whole)
    return True


def _create_exclusively(path: str, content: bytes) -> bool:
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return False
    with open(descriptor, "wb") as file:
        file.write(content)
    return True


def set_aside(path: str) -> None:
    """Rename a file to the first free of `<path>.1`, `<path>.2`, ..."""
    free = next(name for i in itertools.count(1) if not os.path.lexists(name := f"{path}.{i}"))
    os.rename(path, free)
