"""Waiting for what another process or thread brings about."""

import time
from collections.abc import Callable
from pathlib import Path


def comes_true(condition: Callable[[], object], seconds: float = 10.0) -> bool:
    """Whether the condition holds now, or within so many seconds."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def runs(pid: int) -> bool:
    """Whether there is such a process, and it is no zombie."""
    stat = Path(f"/proc/{pid}/stat")
    try:
        return stat.read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False
