"""Memory that was freed, and that the C library keeps for itself."""

import ctypes
import time
from collections.abc import Callable
from typing import Any


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
        self._trim: Callable[[int], Any] | None = None
        try:
            self._trim = ctypes.CDLL(None).malloc_trim
        except (OSError, AttributeError, TypeError):  # another C library, which does not keep it
            self._trim = None

    def give_back(self) -> bool:
        """Give back what is free, if it is time; returns whether it was."""
        if self._trim is None or self._clock() - self._last < self._every:
            return False
        self._trim(0)
        self._last = self._clock()
        return True
