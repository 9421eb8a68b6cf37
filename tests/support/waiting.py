"""Waiting for what another process or thread brings about."""

import time
from collections.abc import Callable


def comes_true(condition: Callable[[], object], seconds: float = 10.0) -> bool:
    """Whether the condition holds now, or within so many seconds."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True
