"""Waiting for the turn: looking again and again, while that pays; then asleep, or looking from time to time."""

import time
from collections.abc import Callable, Iterator

from dots_simulator.wake import Wake

# between looks whether the other side lives, and at a turn that a wake-up should have reported
CHECK_SECONDS = 0.2
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


class Waiter:
    """Waits until the other side has passed the turn. Both sides say in `_check` when it will never come."""

    def __init__(self, wake: Wake | None):
        self.wake = wake
        # whether the other side knows how to wake this one
        self.joined = False
        self._spin = Spin()

    def signal(self) -> None:
        """Wake the other side, after the turn was passed to it."""
        if self.joined and self.wake is not None:
            self.wake.signal()

    def wait_until(self, is_ours: Callable[[], bool]) -> None:
        """Return when `is_ours()`."""
        wake = self.wake if self.joined else None
        if self._spin.due():
            if wake is not None:
                wake.stay_awake()
            if self._spin.look(is_ours):
                return
        if (wake is None or wake.fall_asleep()) and is_ours():
            return
        if wake is not None:  # most waits end with the first wake-up
            wake.wait(CHECK_SECONDS)
            if is_ours():
                return
        self._wait_long(is_ours)

    def _wait_long(self, is_ours: Callable[[], bool]) -> None:
        passed = 0.0
        for pause in naps():
            wake = self.wake if self.joined else None
            if wake is not None:
                wake.wait(CHECK_SECONDS)
                is_suspicious = True
            else:
                is_suspicious = self._nap(pause)
                passed += pause
            if is_ours():
                return
            if is_suspicious or passed > CHECK_SECONDS:
                self._check(is_ours)
                passed = 0.0

    def _nap(self, seconds: float) -> bool:
        """Sleep; whether to check at once."""
        time.sleep(seconds)
        return False

    def _check(self, is_ours: Callable[[], bool]) -> None:
        """Raise an error if the other side has ended, or takes too long."""
        raise NotImplementedError(f"{type(self).__name__} does not define _check()")
