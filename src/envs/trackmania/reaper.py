"""Run as a program: waits until standard input ends, then ends all processes that carry a mark in their environment.

A game inherits the mark from the command that started it, also if a launcher between them has ended.
See `utils.processes.reaper`.
"""

import contextlib
import os
import signal
import sys
from pathlib import Path

VARIABLE = "MUSTER_GAME"


def processes_of(mark: str) -> list[int]:
    """The processes of this user, this one left out, that were started with the mark, and have not ended."""
    wanted, found = f"{VARIABLE}={mark}".encode(), []
    for path in Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):  # another user's, or it has just ended
            if wanted in path.read_bytes().split(b"\0"):
                found.append(int(path.parent.name))
    return [pid for pid in found if pid != os.getpid()]


def kill_all(mark: str) -> None:
    """End them, at once."""
    for pid in processes_of(mark):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def main() -> None:
    mark = sys.argv[1]
    sys.stdin.buffer.read()
    kill_all(mark)


if __name__ == "__main__":
    main()
