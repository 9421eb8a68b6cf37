"""Looking for the turn: again and again before sleeping, while that pays, and from time to time."""

import time
from collections.abc import Callable, Iterator

# how long it looks; and how long the first time after sleeps, as the other side then has to be woken
SECONDS, FIRST_SECONDS = 60e-6, 250e-6
# looks between two looks at the clock
LOOKS = 8
# after failures, so many waits at most pass until it tries again
MOST_SKIPPED = 2048
# between looks from time to time: at first, for so long, and at last
SHORTEST, SHORT_FOR, LONGEST = 10e-6, 2e-3, 1e-3


class Spin:
    """Decides by what came of it before.

    Sleeping costs two switches between processes, and more where a core has to be woken. Looking is quicker if the
    other side works on another core, and answers soon. Otherwise it takes time from the other side, or from other
    processes: after each failure, twice as many waits pass until the next try, and after each success half as many.
    """

    def __init__(self) -> None:
        self._skipped = self._to_skip = 0
        self._seconds = FIRST_SECONDS

    def due(self) -> bool:
        """Whether to look now; called once for each wait."""
        if self._skipped < self._to_skip:
            self._skipped += 1
            return False
        self._skipped = 0
        return True

    def look(self, is_there: Callable[[], bool]) -> bool:
        """Look, if it is `due`; whether it is there."""
        if is_there():
            return True
        end = time.perf_counter() + self._seconds
        while time.perf_counter() < end:
            for _ in range(LOOKS):
                if is_there():
                    self._seconds, self._to_skip = SECONDS, self._to_skip // 2
                    return True
        self._seconds = FIRST_SECONDS
        self._to_skip = min(2 * self._to_skip + 1, MOST_SKIPPED)
        return False


def naps() -> Iterator[float]:
    """Seconds between two looks of one wait: short ones, then longer and longer ones."""
    pause, passed = SHORTEST, 0.0
    while True:
        passed += pause
        if passed > SHORT_FOR:
            pause = min(1.5 * pause, LONGEST)
        yield pause
