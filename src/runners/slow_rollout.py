"""A line from time to time while a run's first rollout is being played."""

import time
from collections.abc import Callable

# seconds until the first line; each other one comes when twice as long has passed
FIRST = 10.0


class SlowRollout:
    """Says how far the first rollout is, and how fast, if it takes long.

    Args:
        say: takes a line.
        longest: the most steps that it may have.
    """

    def __init__(self, say: Callable[[str], None], longest: int):
        self._say, self._longest = say, longest
        self._began, self._next = time.monotonic(), FIRST

    def played(self, steps: int) -> None:
        """So many steps are done."""
        passed = time.monotonic() - self._began
        if passed >= self._next:
            self._next = 2 * passed
            self._say(
                f"Playing the first rollout: {steps:,} of up to {self._longest:,} steps after {passed:.0f} seconds "
                f"({steps / passed:.1f} steps/s)"
            )
