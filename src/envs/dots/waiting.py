"""Waiting for a simulator: for a moment awake, then asleep, and never longer than it lives."""

import select
import time
from collections.abc import Callable

from dots_simulator.spin import Spin, naps
from dots_simulator.wake import Wake
from envs.dots.faults import NoAnswerError, SimulatorFault
from envs.dots.process import SimulatorProcess

# between looks at a process that nothing reports the end of, and at a turn that a wake-up should have reported
CHECK_SECONDS = 0.2
# between looks at a process that is about to end
LOOK_SECONDS = 50e-6


class Waiter:
    """Waits until a simulator has passed the turn, for so many seconds.

    It looks at the turn for a moment, if that pays. Then, with a wake-up, it sleeps until it is woken. Without, it
    looks at the turn from time to time. Without a process, somebody else has started the simulator.
    """

    def __init__(self, process: SimulatorProcess | None, seconds: float, wake: Wake | None = None):
        self.process, self.seconds, self.wake = process, seconds, wake
        # whether the simulator knows wake-ups, too
        self.joined = False
        self._spin = Spin()

    def until(self, is_ours: Callable[[], bool], doing: str, seconds: float | None = None) -> None:
        """Return when `is_ours()` is true. Raises SimulatorFault: the simulator has ended `doing` something, or took
        too long and was killed."""
        wake = self._partner()
        if self._spin.due():
            if wake is not None:
                wake.stay_awake()
            if self._spin.look(is_ours):
                return
        if (wake is None or (wake.is_awake and wake.fall_asleep())) and is_ours():
            return
        if wake is not None:  # most waits end with the first wake-up
            wake.wait(CHECK_SECONDS)
            if is_ours():
                return
        self._wait_long(is_ours, doing, self.seconds if seconds is None else seconds)

    def give(self) -> None:
        """Wake the simulator, after the turn was passed to it."""
        if (wake := self._partner()) is not None:
            wake.signal()

    def _partner(self) -> Wake | None:
        """Our ends, if the simulator knows wake-ups, too."""
        return self.wake if self.joined else None

    def _wait_long(self, is_ours: Callable[[], bool], doing: str, seconds: float) -> None:
        begun = checked = time.monotonic()
        for pause in naps():
            if (wake := self._partner()) is not None:
                wake.wait(CHECK_SECONDS)
                suspicious = wake.gone
            else:
                suspicious = self._nap(pause)
            if is_ours():
                return
            now = time.monotonic()
            if suspicious or now - checked > CHECK_SECONDS:
                checked = now
                self._require_life(is_ours, doing)
            if is_ours():
                return
            if now - begun > seconds:
                self._give_up(doing, seconds)

    def _nap(self, seconds: float) -> bool:
        """Sleep; whether the process has ended meanwhile."""
        process = self.process
        if process is None or process.descriptor is None:
            time.sleep(seconds)
            return False
        return bool(select.select([process.descriptor], [], [], seconds)[0])

    def _require_life(self, is_ours: Callable[[], bool], doing: str) -> None:
        wake = self._partner()
        gone = wake is not None and wake.gone
        if self.process is None:
            if gone and not is_ours():
                raise SimulatorFault(f"The simulator has ended {doing}")
            return
        if gone:
            # its ends of the FIFOs close a moment before it counts as ended; if it has only closed them, look at bytes
            deadline = time.monotonic() + CHECK_SECONDS
            while self.process.alive and time.monotonic() < deadline:
                time.sleep(LOOK_SECONDS)
            self.joined = False
        if not self.process.alive and not is_ours():
            self.process.end(0)
            raise SimulatorFault(f"The simulator has ended {doing}: {self.process.ending()}")

    def _give_up(self, doing: str, seconds: float) -> None:
        if self.process is not None:
            self.process.end(0)
            raise SimulatorFault(f"The simulator hangs {doing}: no answer for {seconds:g} seconds; it was killed")
        raise NoAnswerError(f"The simulator hangs {doing}: no answer for {seconds:g} seconds", seconds)
