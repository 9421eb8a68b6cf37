"""Memory that was freed, and what the C library does with it."""

import ctypes
import time
from collections.abc import Callable
from typing import Any

# parameters of glibc's mallopt(3)
M_TRIM_THRESHOLD, M_TOP_PAD, M_MMAP_MAX = -1, -2, -4
LARGEST_INT = 2**31 - 1


def keep_freed_memory() -> bool:
    """Reuse freed memory, instead of returning it to the system and getting it back, page by page, every update.

    An update allocates the same large tensors as the last one; on a CPU, getting 15 MB of them again cost 7 ms, of
    an update of 40. Up to 2 GiB are kept. False where the C library is not glibc, and nothing changes.
    """
    mallopt = _of_glibc("mallopt")
    if mallopt is None:
        return False
    settings = ((M_MMAP_MAX, 0), (M_TRIM_THRESHOLD, LARGEST_INT), (M_TOP_PAD, 64 * 2**20))
    done = [mallopt(parameter, value) == 1 for parameter, value in settings]
    return all(done)


class FreedMemory:
    """Gives it back to the system now and then.

    Networks over ragged batches free tensors of ever different sizes, and glibc keeps the gaps between those that stay:
    a run of MAPPO on three maps of Skirmish, whose objects stayed as many as they were, grew to 1.29 GB in 40,000
    steps, and to 1.06 GB where this was called.

    Args:
        every: seconds between two times, of which each takes some hundredths of one.
        clock: seconds.
    """

    def __init__(self, every: float = 30.0, clock: Callable[[], float] = time.monotonic):
        self._every, self._clock, self._last = every, clock, clock()
        self._trim = _of_glibc("malloc_trim")

    def give_back(self) -> bool:
        """Give back what is free, if it is time; returns whether it was."""
        if self._trim is None or self._clock() - self._last < self._every:
            return False
        self._trim(0)
        self._last = self._clock()
        return True


def _of_glibc(function: str) -> Callable[..., Any] | None:
    """A function that other C libraries lack, which do not keep freed memory; None: this is one of them."""
    try:
        return getattr(ctypes.CDLL(None), function)
    except (AttributeError, OSError, TypeError):
        return None
