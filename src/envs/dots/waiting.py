"""Waiting for a simulator: for a moment awake, then asleep, and never longer than it lives."""

import os
import select
import time
from collections.abc import Callable

from dots_simulator.wake import Wake
from envs.dots.faults import SimulatorFault
from envs.dots.process import SimulatorProcess

# looks before the first sleep: a few microseconds; and with the others let first, a fraction of a millisecond
SPINS, YIELDS = 100, 200
FIRST_NAP, LONGEST_NAP = 50e-6, 1e-3
# between looks at a process that nothing reports the end of, and at a turn that a wake-up should have reported
CHECK_SECONDS = 0.2


class Waiter:
    """Waits until a simulator has passed the turn.

    With a wake-up it sleeps until it is woken. Without, it looks at the turn, sleeping longer and longer in between.

    Args:
        process: of the simulator; None: somebody else started it.
        seconds: that the simulator may take for an answer.
        wake: our ends, or None.
    """

    def __init__(self, process: SimulatorProcess | None, seconds: float, wake: Wake | None = None):
        self.process, self.seconds, self.wake = process, seconds, wake
        # whether the simulator knows wake-ups, too
        self.joined = False

    def until(self, is_ours: Callable[[], bool], doing: str, seconds: float | None = None) -> None:
        """Return when `is_ours()` is true.

        Args:
            doing: of the simulator, for the message: "answering a step".
            seconds: None: `self.seconds`.

        Raises:
            SimulatorFault: its process has ended, or it took too long and was killed.
        """
        if not self.joined:
            for _ in range(SPINS):
                if is_ours():
                    return
            for _ in range(YIELDS):
                os.sched_yield()
                if is_ours():
                    return
        seconds = self.seconds if seconds is None else seconds
        begun = checked = time.monotonic()
        nap = FIRST_NAP
        while True:
            if self.joined:
                self.wake.wait(CHECK_SECONDS)
                suspicious = self.wake.gone
            else:
                suspicious = self._nap(nap)
                nap = min(nap * 2, LONGEST_NAP)
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

    def give(self) -> None:
        """Wake the simulator, after the turn was passed to it."""
        if self.joined:
            self.wake.signal()

    def _nap(self, seconds: float) -> bool:
        """Sleep; whether the process has ended meanwhile."""
        process = self.process
        if process is None or process.descriptor is None:
            time.sleep(seconds)
            return False
        return bool(select.select([process.descriptor], [], [], seconds)[0])

    def _require_life(self, is_ours: Callable[[], bool], doing: str) -> None:
        if self.process is None:
            if self.joined and self.wake.gone and not is_ours():
                raise SimulatorFault(f"The simulator has ended {doing}")
            return
        if self.joined and self.wake.gone:
            # its ends of the FIFOs close a moment before it counts as ended; if it has only closed them, look at bytes
            deadline = time.monotonic() + CHECK_SECONDS
            while self.process.alive and time.monotonic() < deadline:
                time.sleep(FIRST_NAP)
            self.joined = False
        if not self.process.alive and not is_ours():
            self.process.end(0)
            raise SimulatorFault(f"The simulator has ended {doing}: {self.process.ending()}")

    def _give_up(self, doing: str, seconds: float) -> None:
        if self.process is not None:
            self.process.end(0)
            raise SimulatorFault(f"The simulator hangs {doing}: no answer for {seconds:g} seconds; it was killed")
        raise SimulatorFault(f"The simulator hangs {doing}: no answer for {seconds:g} seconds")
