"""tensorboard-logger on today's protobuf.

tensorboard-logger 0.1.0 ships message classes generated for protobuf 3, which protobuf 4 and later refuse to
import. The package `tensorboard` has the same two messages, generated for today. They are put where
tensorboard-logger looks for its own, for the time of its import; no other module ever sees them there.
"""

import sys
from types import ModuleType

_MESSAGES = "tensorboard_logger.tf_protobuf"


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
    """Writes scalars into a folder that TensorBoard reads. One writer a folder: two would overwrite each other."""

    def __init__(self, folder: str):
        self._logger = _import_tensorboard_logger().Logger(folder)

    def log_value(self, key: str, value: float, step: int) -> None:
        """Append one scalar; it is on disk when the call returns."""
        self._logger.log_value(key, value, step)
