"""tensorboard-logger on today's protobuf, and on disks that fill up.

tensorboard-logger 0.1.0 ships message classes generated for protobuf 3, which protobuf 4 and later refuse to
import. The package `tensorboard` has the same two messages, generated for today. They are put where
tensorboard-logger looks for its own, for the time of its import; no other module ever sees them there.
"""

import io
import logging
import os
import socket
import sys
import time
from collections.abc import Mapping
from types import ModuleType

from records.append_file import AppendFile, FaultNotice
from utils.regular_files import open_regular

_MESSAGES = "tensorboard_logger.tf_protobuf"
_PREFIX = "events.out.tfevents."


def _import_tensorboard_logger() -> ModuleType:
    if "tensorboard_logger" in sys.modules:
        return sys.modules["tensorboard_logger"]
    from tensorboard.compat.proto import event_pb2, summary_pb2

    messages = ModuleType(_MESSAGES)
    messages.event_pb2, messages.summary_pb2 = event_pb2, summary_pb2
    # its images would use scipy.misc, which no longer has what they need; nothing here writes images
    scipy, misc = ModuleType("scipy"), ModuleType("scipy.misc")
    scipy.misc = misc
    # a tensorflow that is installed would be imported whole; None makes `import tensorflow` fail at once
    seeded = {_MESSAGES: messages, "scipy": scipy, "scipy.misc": misc, "tensorflow": None}
    before = {name: sys.modules[name] for name in seeded if name in sys.modules}
    sys.modules.update(seeded)
    try:
        import tensorboard_logger
    finally:
        for name in seeded:
            del sys.modules[name]
        sys.modules.update(before)
    return tensorboard_logger


class EventWriter:
    """Writes scalars into a folder that TensorBoard reads, each in one write; AppendFile says what happens on faults.

    The logger's sink for TensorBoard (`records.sinks.Sink`). The file is made at the first scalar, and has a name that
    comes after those of the files in the folder, as TensorBoard reads them in that order. One writer a folder.
    """

    name = "tensorboard"

    def __init__(self, folder: str, console: logging.Logger | None = None):
        library = _import_tensorboard_logger()
        # a dummy opens no file of its own
        self._logger = library.Logger(folder, is_dummy=True)
        self._logger.is_dummy = False
        self._folder = os.path.abspath(folder)
        self._console = console or logging.getLogger()
        self._earlier: dict[str, int] = {}
        self._begun = False
        head = self._logger._writer = io.BytesIO()
        messages = library.tensorboard_logger.event_pb2
        self._logger._write_event(messages.Event(wall_time=time.time(), step=0, file_version="brain.Event:2"))
        self._file = _EventFile(self._folder, self._console, head.getvalue())
        self._logger._writer = _RecordWriter(self._file)

    def log_value(self, key: str, value: float, step: int) -> None:
        """Append one scalar; it is on disk when the call returns, unless the disk does not let it."""
        self._begun = True
        self._logger.log_value(key, value, step)

    def flush(self) -> None:
        """Write what waits, and make the file again if it is gone."""
        if self._begun:
            self._file.flush()

    def state_dict(self) -> dict[str, int]:
        """Bytes that are surely written of every event file, by name."""
        own = {os.path.basename(self._file.path): self._file.size} if self._file.size else {}
        return {**self._earlier, **own}

    def resume(self, state: dict[str, int], stats: Mapping[str, list[tuple[int, float]]]) -> None:
        """Cut the folder's event files back to the sizes in `state`; those that are not named there are removed.

        Args:
            state: what `state_dict` returned in an earlier session.
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
                with open_regular(path) as file:  # no link, so that nothing is cut elsewhere
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
            self._logger._ensure_tf_name(key)

    def close(self, finished: bool) -> None:
        """Write what waits."""
        self.flush()


class _EventFile(AppendFile):
    def __init__(self, folder: str, console: logging.Logger, head: bytes):
        self._folder = folder
        super().__init__(os.path.join(folder, _PREFIX), "TensorBoard's event file", console, head)
        self.notice = FaultNotice(f"TensorBoard's event file in {folder}", console)

    def _set_aside(self) -> None:
        # under a name that TensorBoard does not read: the new file has the same points
        os.rename(self.path, os.path.join(self._folder, os.path.basename(self.path).replace(_PREFIX, "replaced.")))

    def _name_new_file(self) -> None:
        seconds = int(time.time())
        if os.path.isdir(self._folder):
            for name in os.listdir(self._folder):
                stamp = name.removeprefix(_PREFIX).partition(".")[0]
                if name.startswith(_PREFIX) and stamp.isdecimal():
                    seconds = max(seconds, int(stamp) + 1)
        self.path = os.path.join(self._folder, f"{_PREFIX}{seconds}.{socket.gethostname()}")


class _RecordWriter:
    """The file as tensorboard-logger sees it, which writes a record in four pieces and then flushes."""

    def __init__(self, file: AppendFile):
        self._file = file
        self._pieces: list[bytes] = []

    def write(self, piece: bytes) -> None:
        self._pieces.append(piece)

    def flush(self) -> None:
        self._file.append(b"".join(self._pieces))
        self._pieces.clear()

    def close(self) -> None:
        """Nothing is open."""
