"""What launchers have in common: they start runs that nobody has, until the suite is done or they are stopped."""

import os
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from suites.launch.leases import Leases
from suites.state.runs import DROPPED, FAILED, LOST, RUNNING, STOPPED, SuiteRun
from suites.state.state import Attempt, SuiteFolder
from utils.console import ERASE_BELOW

# seconds between looks at the folder when nothing ends here
LOOK = 1.0
# seconds that stopped runs get to end, once they are to end at once
PATIENCE = 10.0


@dataclass(frozen=True)
class Outcome:
    """How a launcher ended.

    Attributes:
        newest: attempt at each run.
        signum: the signal that stopped it, if one did; `stopped` also by `suite.py stop`.
        changed: runs that it did not begin, because their configs have changed since the suite was started.
        refused: runs that could not be begun, with the reason.
    """

    newest: dict[str, Attempt]
    signum: int | None
    stopped: bool
    changed: list[str]
    refused: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Work:
    """What a launcher has to do, wherever it starts runs, and whom it reports to.

    Attributes:
        runs: in the order in which they are wanted.
        report: called with an attempt whenever one begins or ends by this launcher.
        look: called with the newest attempts at every look at the folder.
        retry_failed: whether runs that had failed before this start are tried again.
        is_current: whether a run would still have the config that its id is a hash of; others are not begun.
    """

    folder: SuiteFolder
    runs: list[SuiteRun]
    leases: Leases
    report: Callable[[Attempt], Any]
    look: Callable[[dict[str, Attempt]], Any]
    retry_failed: bool = False
    is_current: Callable[[SuiteRun], bool] = lambda run: True


class Launcher:
    """Starts a suite's runs; where and how is for its children to say, in the methods at its end."""

    def __init__(self, work: Work):
        self._folder, self._leases = work.folder, work.leases
        self._runs = {run.id: run for run in work.runs}
        self._report, self._look = work.report, work.look
        self._is_current = work.is_current
        # those that this launcher has begun, with what it knows of them
        self._mine: dict[str, Any] = {}
        self._signals: list[int] = []
        self._changed: list[str] = []
        self._refused: dict[str, str] = {}
        failed = {run: attempt.number for run, attempt in work.folder.newest().items() if attempt.state == FAILED}
        self._retried = failed if work.retry_failed else {}

    def run(self) -> Outcome:
        """Until every run is done or has failed, wherever it ran; or until it is stopped."""
        handlers = {signum: signal.signal(signum, self._note) for signum in (signal.SIGINT, signal.SIGTERM)}
        newest: dict[str, Attempt] = {}
        forced = 0.0
        try:
            while True:
                newest = self._folder.newest()
                self._note_ended(newest)
                self._look(newest)
                stops = self._stops()
                if stops:
                    self._stop(newest, stops)
                    forced = forced or (time.monotonic() if stops > 1 else 0.0)
                    if not self._mine or (forced and time.monotonic() - forced > PATIENCE):
                        break
                elif not self._fill(newest) and not self._mine and not self._elsewhere(newest):
                    break
                self._wait(0.05 if stops else LOOK)
            stopped = bool(self._stops())
        finally:
            for stopping, handler in handlers.items():
                signal.signal(stopping, handler)
            self._close()
        signum = self._signals[0] if self._signals else None
        return Outcome(newest, signum, stopped, self._changed, self._refused)

    def _wait(self, seconds: float) -> None:
        """Until one of `_mine` has ended, or a signal comes."""
        end, signals = time.monotonic() + seconds, len(self._signals)
        while (left := end - time.monotonic()) > 0 and len(self._signals) == signals:
            # Python continues a wait that a signal handler interrupted
            if self._one_ends(min(left, 0.2)):
                return

    def _note(self, signum: int, _frame: object) -> None:
        self._signals.append(signum)
        if len(self._signals) == 1:
            text = f"{signal.Signals(signum).name}: the runs save and stop. Once more ends them at once."
            # print may be what was interrupted; below the cursor, a terminal may show how far the suite is
            os.write(2, f"{ERASE_BELOW if os.isatty(2) else ''}\n{text}\n".encode())

    def _stops(self) -> int:
        """0: continue; 1: stop, and let runs save; 2: at once."""
        return min(len(self._signals), 2) or int(self._folder.stop.exists())

    def _is_free(self, run: str, attempt: Attempt | None) -> bool:
        if attempt is None or attempt.state in (STOPPED, LOST, DROPPED):
            return attempt is None or self._leases.may_continue(attempt)
        if attempt.state == RUNNING:
            over = run not in self._mine and self._leases.is_over(attempt)
            # its supervisor may have written down the end, and ended, since the file was read
            return over and self._folder.attempt(run, attempt.number) == attempt
        return attempt.state == FAILED and self._retried.get(run) == attempt.number

    def _still_current(self, run: SuiteRun) -> bool:
        """Whether a run may be begun; one whose config has changed is noted and forgotten."""
        if self._is_current(run):
            return True
        del self._runs[run.id]
        self._changed.append(run.id)
        return False

    def _elsewhere(self, newest: dict[str, Attempt]) -> bool:
        """Whether others still have runs, which could be lost."""
        unfinished = (RUNNING, STOPPED, LOST, DROPPED)
        return any(
            run not in newest or newest[run].state in unfinished or self._is_free(run, newest[run])
            for run in self._runs
        )

    def _fill(self, newest: dict[str, Attempt]) -> bool:
        """Start runs while there is room; whether one was started."""
        raise NotImplementedError

    def _note_ended(self, newest: dict[str, Attempt]) -> None:
        """Forget, and report, what has ended of `_mine`; `newest` is brought up to date."""
        raise NotImplementedError

    def _stop(self, newest: dict[str, Attempt], stops: int) -> None:
        """Have runs of `_mine` stop, as often as this launcher was asked to."""
        raise NotImplementedError

    def _one_ends(self, seconds: float) -> bool:
        """Wait until one of `_mine` has ended, at most so long; whether one has."""
        raise NotImplementedError

    def _close(self) -> None:
        """Called once, at the end."""
