"""Run as a program: ends a simulator and removes its files when the trainer has ended, however it ended.

Arguments: the path of the first file. Standard input: lines, each the number of a process group to end; "done" means
that the trainer has seen to everything itself. See `utils.processes.reaper`.
"""

import contextlib
import fcntl
import glob
import os
import signal
import sys
import time
from pathlib import Path

# what the names of a place's files end with, after the path of the first and underscores: see `places`
LOCK = ".lock"
OF_A_PLACE = ("", ".new", ".log", LOCK, ".to_simulator", ".to_trainer", ".awake", ".sealed")


def begun(pid: int) -> str:
    """When a process began, which tells it from a later one of the same number; "": it has ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[19]
    except (OSError, IndexError):
        return ""


def is_anothers(path: str) -> bool:
    """Whether another trainer has taken the place meanwhile; else this process keeps the place's lock until it ends."""
    try:
        lock = os.open(path + LOCK, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return False
    for _ in range(10):
        with contextlib.suppress(OSError):
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            break
        time.sleep(0.02)  # a simulator looks at it now and then
    else:
        return True
    with contextlib.suppress(OSError):
        return os.stat(path + LOCK).st_ino != os.fstat(lock).st_ino
    return False


def main() -> None:
    path, groups = sys.argv[1], {}
    for line in sys.stdin:
        if line.strip() == "done":
            return
        groups[int(line)] = begun(int(line))
    for group, start in groups.items():
        if begun(group) == start:
            with contextlib.suppress(OSError):
                os.killpg(group, signal.SIGKILL)
    if is_anothers(path):
        return
    for name in glob.glob(f"{glob.escape(path)}*"):
        if name.removeprefix(path).lstrip("_") in OF_A_PLACE:
            with contextlib.suppress(OSError):
                os.unlink(name)


if __name__ == "__main__":
    main()
