"""Waiting for a simulator, and never longer than it lives."""

import select
import time
from collections.abc import Callable

from dots_simulator.waiting import CHECK_SECONDS, Waiter
from dots_simulator.wake import Wake
from envs.dots.faults import NoAnswerError, SimulatorFault
from envs.dots.process import SimulatorProcess

# between looks at a process that is about to end
LOOK_SECONDS = 50e-6


class SimulatorWaiter(Waiter):
    """Waits until a simulator has passed the turn, for so many seconds; somebody else may have started it."""

    def __init__(self, seconds: float, wake: Wake | None = None):
        super().__init__(wake)
        self.process: SimulatorProcess | None = None
        self.seconds = seconds
        self._doing, self._begun, self._seconds = "", 0.0, seconds

    def until(self, is_ours: Callable[[], bool], doing: str, seconds: float | None = None) -> None:
        """Return when `is_ours()` is true. Raises SimulatorFault: the simulator has ended `doing` something, or took
        too long and was killed."""
        self._doing, self._seconds = doing, self.seconds if seconds is None else seconds
        self.wait_until(is_ours)

    def _wait_long(self, is_ours: Callable[[], bool]) -> None:
        self._begun = time.monotonic()
        super()._wait_long(is_ours)

    def _nap(self, seconds: float) -> bool:
        if self.process is None or self.process.descriptor is None:
            time.sleep(seconds)
            ended = False
        else:
            ended = bool(select.select([self.process.descriptor], [], [], seconds)[0])
        return ended or time.monotonic() - self._begun > self._seconds

    def _check(self, is_ours: Callable[[], bool]) -> None:
        gone = self.joined and self.wake is not None and self.wake.gone
        process, doing, seconds = self.process, self._doing, self._seconds
        if process is None and gone and not is_ours():
            raise SimulatorFault(f"The simulator has ended {doing}")
        if process is not None:
            if gone:
                # its ends of the FIFOs close a moment before it counts as ended; if it has only closed them, look at
                # the turn
                deadline = time.monotonic() + CHECK_SECONDS
                while process.alive and time.monotonic() < deadline:
                    time.sleep(LOOK_SECONDS)
                self.joined = False
            if not process.alive and not is_ours():
                process.end(0)
                raise SimulatorFault(f"The simulator has ended {doing}: {process.ending()}")
        if time.monotonic() - self._begun > seconds and not is_ours():
            hangs = f"The simulator hangs {doing}: no answer for {seconds:g} seconds"
            if process is None:
                raise NoAnswerError(hangs, seconds)
            process.end(0)
            raise SimulatorFault(f"{hangs}; it was killed")
