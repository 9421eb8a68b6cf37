"""The launcher of one machine: as many runs at a time as there is room for, until the suite is done."""

import os
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from suites.launch.fork_server import ForkServer, Request
from suites.launch.launcher import Launcher, Work
from suites.launch.processes import is_alive
from suites.launch.supervisor import command_of
from suites.plan.resources import Machine
from suites.plan.slots import Slot, Slots
from suites.state.runs import LOST, RUNNING, SuiteRun
from suites.state.state import Attempt

if TYPE_CHECKING:
    from suites.search.searcher import Searcher


class LocalLauncher(Launcher):
    """Starts a suite's runs on this machine, by the fork server that `start` makes; a searcher makes more runs."""

    def __init__(
        self, work: Work, machine: Machine, start: Callable[[], ForkServer], searcher: "Searcher | None" = None
    ):
        super().__init__(work)
        self._machine, self._start, self._searcher = machine, start, searcher
        self._server: ForkServer | None = None
        self._slots = Slots()
        self._mine: dict[str, Attempt] = {}
        self._asked: dict[str, ForkServer] = {}  # by a run of `_mine`: another may have taken its place since
        self._signalled: dict[str, int] = {}

    def _fill(self, newest: dict[str, Attempt]) -> bool:
        """Start runs while there is room; whether one was started."""
        here = [attempt for run, attempt in newest.items() if run in self._mine or self._is_orphan(attempt)]
        self._take_trials(newest, len(here))
        started = False
        for run in list(self._runs.values()):
            if len(here) >= self._machine.jobs:
                break
            before = newest.get(run.id)
            if not self._is_free(run.id, before):
                continue
            # before what takes longer: without room it comes to this at every look
            with self._slots.alone():
                if self._machine.slot(self._taken(newest, here)) is None:
                    break
            if not self._still_current(run):
                continue
            with self._slots.alone():
                slot = self._machine.slot(self._taken(newest, here))
                if slot is None:
                    break
                attempt = self._leases.take(run, before, slot.cores, slot.gpus)
                if attempt is not None:
                    self._slots.take(self._folder, attempt, slot)
            if attempt is not None and self._begin(run, attempt):
                here.append(attempt)
                started = True
        return started

    def _taken(self, newest: dict[str, Attempt], here: list[Attempt]) -> list[Slot]:
        """What runs have of this machine; without locks, those of this suite, as far as this launcher has read."""
        if (taken := self._slots.taken()) is not None:
            return taken
        others = [attempt for attempt in newest.values() if attempt not in here and self._leases.is_here(attempt)]
        return [self._machine.slot_of(attempt) for attempt in (*here, *others)]

    def _take_trials(self, newest: dict[str, Attempt], running: int) -> None:
        """Take up the runs that a search wants by now."""
        if self._searcher is None or self._changed:
            return
        room = self._machine.jobs - running - sum(self._is_free(run, newest.get(run)) for run in self._runs)
        wanted = self._searcher.look(newest, room)
        dropped = self._folder.dropped()
        self._runs = {run.id: run for run in wanted if run.id not in dropped}

    def _elsewhere(self, newest: dict[str, Attempt]) -> bool:
        """Or the search has not ended."""
        searches = self._searcher is not None and self._searcher.unfinished and not self._changed
        return searches or super()._elsewhere(newest)

    def _begin(self, run: SuiteRun, attempt: Attempt) -> bool:
        words = command_of(self._folder.results, attempt, run)
        environment = self._machine.environment(attempt.gpus)
        request = Request(str(self._folder.results), self._folder.name, attempt, words, environment)
        for _ in range(2):
            if self._server is None or not self._server.alive:
                self._server = self._start()
            if self._server.start(request):
                self._mine[run.id], self._asked[run.id] = attempt, self._server
                self._report(attempt)
                return True
        self._lose(attempt)
        return False

    def _is_orphan(self, attempt: Attempt) -> bool:
        """Whether an attempt is under way on this machine whose launcher has ended."""
        if not self._leases.is_here(attempt):
            return False
        pid, _, rest = attempt.launcher.partition("-")
        return not pid.isdigit() or not is_alive(int(pid), rest.partition("-")[0])

    def _note_ended(self, newest: dict[str, Attempt]) -> None:
        """Forget what has ended; a run whose fork server died before it began is lost."""
        for run, begun in list(self._mine.items()):
            now = newest.get(run, begun)
            if self._waits(now, begun) and not self._asked[run].alive:
                now = self._folder.attempt(run, now.number) or now  # it may have begun since `newest` was read
                newest[run] = now = self._lose(now) if self._waits(now, begun) else now
            if self._waits(now, begun):
                continue
            self._slots.give(self._folder, begun)
            if now.number == begun.number and now.state == RUNNING and not self._leases.is_over(now):
                continue
            del self._mine[run], self._asked[run]
            self._signalled.pop(run, None)
            if now.number == begun.number:
                self._report(now)

    @staticmethod
    def _waits(now: Attempt, begun: Attempt) -> bool:
        """Whether the supervisor of an attempt that was begun has not begun yet."""
        return now.number == begun.number and now.pid == os.getpid() and now.state == RUNNING

    def _lose(self, attempt: Attempt) -> Attempt:
        self._slots.give(self._folder, attempt)
        lost = replace(attempt, state=LOST, ended=time.time(), error="It did not start.")
        self._folder.write(lost)
        return lost

    def _stop(self, newest: dict[str, Attempt], stops: int) -> None:
        """Send supervisors as many signals as this launcher got."""
        for run in self._mine:
            attempt = newest.get(run)
            if attempt is None or attempt.pid == os.getpid():
                continue  # its supervisor has not begun
            while self._signalled.get(run, 0) < stops:
                self._signalled[run] = self._signalled.get(run, 0) + 1
                with suppress(ProcessLookupError, PermissionError):
                    os.kill(attempt.pid, signal.SIGTERM)
                if self._signalled[run] < stops:
                    time.sleep(0.05)  # two signals of one kind at a time are one

    def _one_ends(self, seconds: float) -> bool:
        if self._server is not None and self._server.alive:
            return self._server.wait(seconds)
        time.sleep(seconds)
        return False

    def _close(self) -> None:
        if self._server is not None:
            self._server.close()
