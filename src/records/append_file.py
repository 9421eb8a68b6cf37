"""Files that only grow, on disks that fill up."""

import errno
import logging
import os
import zlib
from collections import deque
from contextlib import suppress

from records.fault_notice import FaultNotice
from utils.files.whole_files import set_aside

# neither following a foreign link, nor waiting for the reader of a pipe
_APPENDING = os.O_WRONLY | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)


class AppendFile:
    """A file to which chunks are appended whole, each in one write.

    Failed writes are kept and retried. A partly written chunk is cut off before the next write. After a removal of the
    file, or an hour of failures, the file is given up: with one warning, and without keeping or writing anything more.
    No call raises an OSError.

    Args:
        path: the file, made at the first write with its folder, for the user alone; another file of that name is set
            aside as `<name>.1`, `<name>.2`, ... None: keep everything in memory until `move` names one.
        what: its name in messages, such as "The metric log"; they add the path.
        console: logs once that writing fails.
        head: the first chunk.

    Attributes:
        size: bytes that are surely written.
        crc32: their checksum.
    """

    def __init__(self, path: str | None, what: str, console: logging.Logger, head: bytes = b""):
        self._what, self._console = what, console
        self._pending: deque[bytes] = deque([head] if head else [])
        self.size = self.crc32 = 0
        self._descriptor: int | None = None
        self._given_up = False
        self.path: str | None = None
        self._notice = FaultNotice(what, console)
        if path is not None:
            self.move(path)

    def move(self, path: str) -> None:
        """Name the file, which is made at the next write or `flush`."""
        self.path = os.path.abspath(path)
        self._notice = FaultNotice(f"{self._what} {path}", self._console)

    @property
    def pending(self) -> bytes:
        """The appended bytes that may not be written yet."""
        return b"".join(self._pending)

    def append(self, chunk: bytes) -> None:
        """Write a chunk, or keep it."""
        if self._given_up:
            return
        self._pending.append(chunk)
        if self._notice.retry_due():
            self.flush()

    def flush(self, to_disk: bool = False) -> bool:
        """Make the file if it was not made, and write the pending chunks now; whether everything is in it.

        `to_disk`: also wait until it has left the system's memory.
        """
        if self.path is None or self._given_up:
            return False
        try:
            descriptor = self._opened(self.path)
            while self._pending:
                self._write(descriptor, self._pending[0])
                chunk = self._pending.popleft()
                self.size += len(chunk)
                self.crc32 = zlib.crc32(chunk, self.crc32)
            if to_disk:
                os.fsync(descriptor)
        except OSError as error:
            self._notice.failed(error)
            if self._notice.patience_is_over():
                self._give_up(error)
            return False
        self._notice.worked()
        return not self._given_up

    def adopt(self, size: int, crc32: int) -> None:
        """Continue the file that was named after its first `size` bytes, of checksum `crc32`; the rest is cut off."""
        if size:  # the head is in it
            self._pending.clear()
        self.size, self.crc32 = size, crc32
        if self.path is not None:
            with suppress(OSError):  # the next line reports the problem
                self._descriptor = os.open(self.path, _APPENDING)
        self.flush()

    def _opened(self, path: str) -> int:
        if self._descriptor is None:
            if self.size:
                self._descriptor = os.open(path, _APPENDING)
            else:
                if os.path.lexists(path):
                    set_aside(path)
                os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
                self._descriptor = os.open(path, _APPENDING | os.O_CREAT | os.O_EXCL, 0o600)
        status = os.fstat(self._descriptor)
        if status.st_nlink == 0:
            self._give_up(FileNotFoundError(errno.ENOENT, "it was removed"))
        elif status.st_size > self.size:  # a torn chunk, or rows of a killed session after its last checkpoint
            os.ftruncate(self._descriptor, self.size)
        return self._descriptor

    def _write(self, descriptor: int, chunk: bytes) -> None:
        rest = memoryview(chunk)
        try:
            while rest:
                count = os.write(descriptor, rest)
                if count == 0:
                    raise OSError(errno.EIO, os.strerror(errno.EIO))
                rest = rest[count:]
        except OSError:
            with suppress(OSError):  # it is cut off before the next chunk
                os.ftruncate(descriptor, self.size)
            raise

    def _give_up(self, error: OSError) -> None:
        self._given_up = True
        self._pending.clear()
        self._notice.gave_up(error)

    def __del__(self):
        if self._descriptor is not None:
            with suppress(OSError):
                os.close(self._descriptor)
