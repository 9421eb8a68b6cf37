"""Processes that tests start: which there are, and whether they have ended."""

import time
from collections.abc import Iterable

import psutil


def descendants(pid: int) -> list[int]:
    """The processes that a process has started, and those that these have."""
    return [child.pid for child in psutil.Process(pid).children(recursive=True)]


def is_running(pid: int) -> bool:
    """Whether it has not ended; one that waits for its parent's `wait` has."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def all_end(pids: Iterable[int], seconds: float = 10.0) -> bool:
    """Whether all of them end within so long."""
    left, deadline = list(pids), time.monotonic() + seconds
    while left := list(filter(is_running, left)):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True
