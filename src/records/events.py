"""TensorBoard's event files, written by tensorboard-logger.

tensorboard-logger 0.1.0 opens a plain file, whose writes raise on a full disk; `open`, as its module sees it, opens an
`AppendFile` instead. How it can be imported at all: `utils.old_tensorboard_logger`.
"""

import logging
import os
import socket
import time
from collections.abc import Mapping

from records.append_file import AppendFile
from utils.files.regular_files import open_regular
from utils.old_tensorboard_logger import let_tensorboard_logger_be_imported

_PREFIX = "events.out.tfevents."


class EventWriter:
    """Writes scalars into a folder that TensorBoard reads, each in one write; AppendFile handles faults.

    The logger's sink for TensorBoard (`records.sinks.Sink`). The file is made at the first scalar, and has a name that
    comes after those of the files in the folder, as TensorBoard reads them in that order. One writer a folder.
    """

    name = "tensorboard"

    def __init__(self, folder: str, console: logging.Logger | None = None):
        self._folder = os.path.abspath(folder)
        self._console = console or logging.getLogger()
        self._earlier: dict[str, int] = {}
        self._file = AppendFile(None, "TensorBoard's event file", self._console)
        self._records = _Records(self._file)
        let_tensorboard_logger_be_imported()
        from tensorboard_logger import tensorboard_logger as library

        library.open = lambda name, mode: self._records
        try:
            self._logger = library.Logger(os.curdir)  # it makes its folder if that is not there; this one is
        finally:
            del library.open

    def log_value(self, key: str, value: float, step: int) -> None:
        """Append one scalar; it is on disk when the call returns, unless the disk does not let it."""
        if self._file.path is None:
            self._file.move(os.path.join(self._folder, _next_name(self._folder)))
        self._logger.log_value(key, value, step)

    def flush(self) -> None:
        """Write waiting values."""
        self._file.flush()

    def state_dict(self) -> dict[str, int]:
        """Bytes that are surely written of every event file, by name."""
        own = {os.path.basename(self._file.path): self._file.size} if self._file.size else {}
        return {**self._earlier, **own}

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
        self._records.dropped = True
        for key in stats:  # the library numbers names that it cannot tell apart in their order
            self._logger.log_value(key, 0.0, 0)
        self._records.dropped = False

    def close(self, finished: bool) -> None:
        """Write waiting values."""
        self.flush()


def _next_name(folder: str) -> str:
    """A name for a new file that comes after those in `folder`, and whose time is now if the clock was always right."""
    seconds = int(time.time())
    if os.path.isdir(folder):
        for name in os.listdir(folder):
            stamp = name.removeprefix(_PREFIX).partition(".")[0]
            if name.startswith(_PREFIX) and stamp.isdecimal():
                seconds = max(seconds, int(stamp) + 1)
    return f"{_PREFIX}{seconds}.{socket.gethostname()}"


class _Records:
    """The file as tensorboard-logger sees it, which writes a record in four pieces and then flushes."""

    def __init__(self, file: AppendFile):
        self.dropped = False
        self._file = file
        self._pieces: list[bytes] = []

    def write(self, piece: bytes) -> None:
        self._pieces.append(piece)

    def flush(self) -> None:
        record = b"".join(self._pieces)
        self._pieces.clear()
        if not self.dropped:
            self._file.append(record)

    def close(self) -> None:
        """Nothing is open."""
