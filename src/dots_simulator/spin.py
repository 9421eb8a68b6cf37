"""Looking for the turn: again and again before sleeping, while that pays, and from time to time."""

import contextlib
import threading
import time
from collections.abc import Callable

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


class Naps:
    """Seconds between two looks of one wait."""

    def __init__(self) -> None:
        _wake_in_time()
        self._pause, self._passed = SHORTEST, 0.0

    def next(self) -> float:
        """Short ones, then longer and longer ones."""
        self._passed += self._pause
        if self._passed > SHORT_FOR:
            self._pause = min(1.5 * self._pause, LONGEST)
        return self._pause


_exact = threading.local()


def _wake_in_time() -> None:
    """Linux lets a thread sleep 50 microseconds longer than it wants to, unless it says otherwise."""
    if not hasattr(_exact, "asked"):
        _exact.asked = True
        with contextlib.suppress(OSError), open(f"/proc/{threading.get_native_id()}/timerslack_ns", "w") as slack:
            slack.write("1000")
