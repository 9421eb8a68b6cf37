"""Run as a program: waits until standard input ends, then ends what runs in a folder and removes it.

Games get their temporary folder on the command line, which identifies the processes to end.
See `utils.processes.reaper`.
"""

import contextlib
import os
import shutil
import signal
import sys
from pathlib import Path


def processes_of(folder: str) -> list[int]:
    """Processes, this one left out, on whose command lines the folder, or something in it, stands."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            words = os.fsdecode(path.read_bytes()).split("\0")
            if any(word == folder or word.startswith(folder + "/") for word in words):
                found.append(int(path.parent.name))
    return [pid for pid in found if pid != os.getpid()]


def main() -> None:
    folder = sys.argv[1]
    sys.stdin.buffer.read()
    for pid in processes_of(folder):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
