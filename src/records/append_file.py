"""Files that only grow, on disks that fill up and in folders that vanish."""

import errno
import itertools
import logging
import os
import time
import zlib
from collections import deque
from contextlib import suppress

# after a failure, so long until the next chunk is tried; between two tries chunks only wait
RETRY_SECONDS = 5.0
# neither following a link that somebody has put there, nor waiting for the reader of a pipe
_APPENDING = os.O_WRONLY | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)


class FaultNotice:
    """Says once that something cannot be written, and once that it can again."""

    def __init__(self, what: str, console: logging.Logger):
        self.what = what
        self.failing = False
        self._console = console
        self._retry_at = 0.0

    def retry_due(self) -> bool:
        """Whether nothing has failed, or the last failure was long enough ago."""
        return not self.failing or time.monotonic() >= self._retry_at

    def failed(self, error: Exception) -> None:
        """Warn, unless that was said already."""
        self._retry_at = time.monotonic() + RETRY_SECONDS
        if not self.failing:
            self.failing = True
            reason = getattr(error, "strerror", None) or error
            self._console.warning(
                f"{self.what} cannot be written: {reason}. The run continues; what is missing is kept in memory and "
                "tried again."
            )

    def worked(self) -> None:
        """Say that it works again, if it had failed."""
        if self.failing:
            self.failing = False
            self._console.info(f"{self.what} can be written again; nothing is missing in it.")

    def made_again(self) -> None:
        """Warn that the file was gone."""
        self._console.warning(f"{self.what} was removed, replaced or cut; it is made again.")


class AppendFile:
    """A file to which chunks are appended whole, each in one write; what fails is kept and tried again.

    A chunk of which only a part was written is cut off before anything else is written. A file that is gone, was
    replaced or cut by somebody else is made again with everything that was appended; a file of the same name that is
    not ours is set aside as `<name>.1`, `<name>.2`, ... No call raises an OSError.

    Args:
        path: the file, made at the first write with its folder, for the user alone; None: keep everything in memory
            until `move` names one.
        what: how messages call it, as in "The metric log"; they add the path.
        console: where it is said once that writing fails.
        head: the first chunk.
    """

    def __init__(self, path: str | None, what: str, console: logging.Logger, head: bytes = b""):
        self.what, self.console = what, console
        self._pending: deque[bytes] = deque([head] if head else [])
        self._written = bytearray()
        self._crc32 = 0
        # kept open, so that no other file can get its inode and be taken for ours
        self._descriptor: int | None = None
        self.path: str | None = None
        self.notice = FaultNotice(what, console)
        if path is not None:
            self.move(path)

    def move(self, path: str) -> None:
        """Name the file, which is made at the next write or `flush`."""
        self.path = os.path.abspath(path)
        self.notice = FaultNotice(f"{self.what} {path}", self.console)

    @property
    def size(self) -> int:
        """Bytes that are surely written."""
        return len(self._written)

    @property
    def crc32(self) -> int:
        """Checksum of the bytes that are surely written."""
        return self._crc32

    @property
    def pending(self) -> bytes:
        """What was appended and is not surely written."""
        return b"".join(self._pending)

    def append(self, chunk: bytes) -> None:
        """Write a chunk, or keep it."""
        self._pending.append(chunk)
        if self.notice.retry_due():
            self.flush()

    def flush(self, to_disk: bool = False) -> bool:
        """Make the file if it is not there, and write what is pending, now.

        Args:
            to_disk: also wait until it has left the system's memory.

        Returns:
            Whether everything that was appended is in the file.
        """
        if self.path is None:
            return False
        try:
            self._flush(to_disk)
        except OSError as error:
            self.notice.failed(error)
            return False
        self.notice.worked()
        return True

    def adopt(self, content: bytes) -> None:
        """Take the file at `path`, which begins with `content`, as ours: what follows `content` is cut off."""
        if content:  # the head is in it
            self._pending.clear()
        self._written = bytearray(content)
        self._crc32 = zlib.crc32(content)
        with suppress(OSError):
            self._descriptor = os.open(self.path, _APPENDING)
        self.flush()

    def _flush(self, to_disk: bool) -> None:
        self._find_or_make()
        while self._pending:
            self._write(self._pending[0])
            chunk = self._pending.popleft()
            self._written += chunk
            self._crc32 = zlib.crc32(chunk, self._crc32)
        if to_disk:
            os.fsync(self._descriptor)

    def _write(self, chunk: bytes) -> None:
        rest = memoryview(chunk)
        try:
            while rest:
                count = os.write(self._descriptor, rest)
                if count == 0:
                    raise OSError(errno.EIO, os.strerror(errno.EIO))
                rest = rest[count:]
        except OSError:
            with suppress(OSError):  # it is cut off before the next chunk
                os.ftruncate(self._descriptor, self.size)
            raise

    def _find_or_make(self) -> None:
        there = _status(self.path)
        if self._descriptor is not None:
            own = os.fstat(self._descriptor)
            if there is not None and os.path.samestat(own, there) and own.st_size >= self.size:
                if own.st_size > self.size:
                    os.ftruncate(self._descriptor, self.size)
                return
            self._close()
            self.notice.made_again()
        if there is not None:
            self._set_aside()
        if self._written:
            self._pending.appendleft(bytes(self._written))
            self._written, self._crc32 = bytearray(), 0
        self._name_new_file()
        os.makedirs(os.path.dirname(self.path), mode=0o700, exist_ok=True)
        self._descriptor = os.open(self.path, _APPENDING | os.O_CREAT | os.O_EXCL, 0o600)

    def _close(self) -> None:
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            with suppress(OSError):
                os.close(descriptor)

    def __del__(self):
        self._close()

    def _set_aside(self) -> None:
        set_aside(self.path)

    def _name_new_file(self) -> None:
        """Choose `path` for a file that is about to be made; the same as before, unless a subclass knows better."""


def _status(path: str) -> os.stat_result | None:
    try:
        return os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None


def set_aside(path: str) -> None:
    """Rename a file to the first free of `<path>.1`, `<path>.2`, ..."""
    free = next(name for i in itertools.count(1) if not os.path.lexists(name := f"{path}.{i}"))
    os.rename(path, free)


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
