"""TensorBoard's event files: messages of the package tensorboard, with the tags of PyMARL's tensorboard-logger."""

import logging
import os
import re
import socket
import struct
import time
from collections.abc import Mapping
from typing import Any

from records.append_file import AppendFile
from utils.files.regular_files import open_regular

_PREFIX = "events.out.tfevents."


class EventWriter:
    """Writes scalars into a folder that TensorBoard reads, each in one write; AppendFile handles faults.

    The logger's sink for TensorBoard (`records.sinks.Sink`). The file is made at the first scalar, and has a name that
    comes after those of the files in the folder, as TensorBoard reads them in that order. One writer a folder.
    """

    name = "tensorboard"

    def __init__(self, folder: str, console: logging.Logger | None = None):
        # TensorFlow, where it is installed, is not imported
        from tensorboard.compat.proto import event_pb2, summary_pb2

        self._folder = os.path.abspath(folder)
        self._console = console or logging.getLogger()
        self._earlier: dict[str, int] = {}
        self._file = AppendFile(None, "TensorBoard's event file", self._console)
        self._event, self._summary = event_pb2.Event, summary_pb2.Summary
        self._tags: dict[str, str] = {}
        self._write(file_version="brain.Event:2")

    def log_value(self, key: str, value: float, step: int) -> None:
        """Append one scalar; it is on disk when the call returns, unless the disk does not let it."""
        if self._file.path is None:
            self._file.move(os.path.join(self._folder, _next_name(self._folder)))
        scalar = self._summary.Value(tag=self._tag(key), simple_value=value)
        self._write(step=step, summary=self._summary(value=[scalar]))

    def _write(self, **content: Any) -> None:
        event = self._event(wall_time=time.time(), **content).SerializeToString()
        length = struct.pack("<Q", len(event))
        checksums = [struct.pack("<I", _masked_crc32c(part)) for part in (length, event)]
        self._file.append(length + checksums[0] + event + checksums[1])

    def _tag(self, key: str) -> str:
        """The key as tensorboard-logger, which PyMARL logs by, names it; keys that become the same are numbered."""
        if key not in self._tags:
            start = key if re.match("[A-Za-z0-9.]", key) else f".{key}"
            tag = base = "_".join(re.findall(r"[A-Za-z0-9_.\-/]+", start))
            number = 0
            while tag in self._tags.values():
                number += 1
                tag = f"{base}/{number}"
            self._tags[key] = tag
        return self._tags[key]

    def flush(self) -> None:
        """Write waiting values."""
        self._file.flush()

    def state_dict(self) -> dict[str, int]:
        """Bytes that are surely written of every event file, by name."""
        path, size = self._file.path, self._file.size
        return {**self._earlier, os.path.basename(path): size} if path and size else dict(self._earlier)

    def resume(self, state: dict[str, int], stats: Mapping[str, list[tuple[int, float]]]) -> None:
        """Cut the folder's event files back to the sizes in `state`; those that are not named there are removed.

        Args:
            state: the `state_dict` of an earlier session.
            stats: all statistics so far in their order: two that TensorBoard cannot tell apart keep their numbers.
        """
        found = set()
        if os.path.isdir(self._folder):
            found = {name for name in os.listdir(self._folder) if name.startswith(_PREFIX)}
        for name in sorted(found | set(state)):
            path = os.path.join(self._folder, name)
            try:
                if name not in state:
                    os.unlink(path)
                    continue
                if name not in found:
                    raise FileNotFoundError(None, "it is missing")
                with open_regular(path) as file:  # no link, which would truncate a file elsewhere
                    size = os.fstat(file.fileno()).st_size
                if size < state[name]:
                    self._console.warning(f"{path} is shorter than it was; TensorBoard's curves have a gap.")
                else:
                    os.truncate(path, state[name])
                self._earlier[name] = min(size, state[name])
            except OSError as error:
                self._console.warning(
                    f"{path} cannot be cut back to where the run resumes: {error.strerror}. TensorBoard's "
                    "curves have a gap or points twice; those of the metric log are right."
                )
        for key in stats:
            self._tag(key)

    def close(self, finished: bool) -> None:
        """Write waiting values."""
        self.flush()


def _crc32c_of(byte: int) -> int:
    for _ in range(8):
        byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
    return byte


_CRC32C = [_crc32c_of(byte) for byte in range(256)]


def _masked_crc32c(data: bytes) -> int:
    """The checksum of TFRecord files."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = _CRC32C[(crc ^ byte) & 0xFF] ^ crc >> 8
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def _next_name(folder: str) -> str:
    """A name for a new file that comes after those in `folder`, and whose time is now if the clock was always right."""
    seconds = int(time.time())
    if os.path.isdir(folder):
        for name in os.listdir(folder):
            stamp = name.removeprefix(_PREFIX).partition(".")[0]
            if name.startswith(_PREFIX) and stamp.isdecimal():
                seconds = max(seconds, int(stamp) + 1)
    return f"{_PREFIX}{seconds}.{socket.gethostname()}"
