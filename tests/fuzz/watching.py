"""Forbidden side effects of reading, detected by Python's audit events while a fuzzer runs."""

import os
import sys
from pathlib import Path

# audit events whose first argument is a changed path, and events that start other programs
CHANGES = (
    "os.mkdir",
    "os.rename",
    "os.remove",
    "os.rmdir",
    "os.link",
    "os.symlink",
    "os.truncate",
    "os.chmod",
    "os.utime",
)
STARTS = ("os.system", "os.exec", "os.posix_spawn", "os.fork", "subprocess.Popen", "socket.connect")


class Forbidden(BaseException):
    """Something was written outside the folder, or started."""


def allow_only(folder):
    """From now on, a file written outside `folder` or a process started raises `Forbidden`; it cannot be undone."""
    folder = Path(folder).resolve()

    def watch(event, arguments):
        if event == "open":
            path, mode, flags = arguments
            writes = (mode is not None and set(mode) & set("wax+")) or flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
            if writes and not isinstance(path, int):
                _within(folder, path, event)
        elif event in CHANGES:
            _within(folder, arguments[0], event)
        elif event in STARTS:
            raise Forbidden(f"{event}{arguments}")

    sys.addaudithook(watch)


def _within(folder, path, event):
    path = Path(os.fsdecode(path))
    if path != Path(os.devnull) and not path.resolve().is_relative_to(folder):
        raise Forbidden(f"{event} of {path}")
