"""The supervisor of one run: a small process that starts it, renews its lease, and writes down how it ended.

A supervisor is in a session of its own: the launcher that began it may end, or be killed, and the run continues. When
the supervisor itself is killed, the run is sent SIGTERM, on which it saves.
"""

import os
import select
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from records.layout import RUNS
from records.metric_log import progress
from suites.launch.leases import IN_USE, RENEWALS
from suites.launch.processes import born, end_with_parent
from suites.plan.slots import HeldSlot
from suites.state.runs import DONE, DROPPED, FAILED, LOST, STOPPED, SuiteRun
from suites.state.state import Attempt, SuiteFolder
from utils.plain_values import escaped
from utils.processes.stop_signals import TOGETHER

# seconds between looks at the folder
LOOK = 1.0
# of what a failed run printed
LAST_LINES, LONGEST_ERROR = 12, 3000
# what a process with several runs passes on; it may come to the supervisors themselves, too, and counts once
PASSED_ON = getattr(signal, "SIGUSR1", signal.SIGTERM)
# exit codes of a run that a signal ended after it had saved
SIGNALLED = tuple(128 + signum for signum in (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1))


def command_of(results: Path, attempt: Attempt, run: SuiteRun) -> list[str]:
    """The words of main.py for an attempt."""
    if attempt.resumes:
        resume = [f"--resume={results / RUNS / attempt.token}"]
        return [*resume, "with", *run.confirmed] if run.confirmed else resume
    return [*run.words, f"run_name={attempt.token!r}", f"local_results_path={str(results)!r}"]


def supervise(folder: SuiteFolder, attempt: Attempt, start: Callable[[], int]) -> Attempt | None:
    """Start an attempt's run and stay with it until it has ended.

    Args:
        start: forks and returns the process's number; 0 in the run.

    Returns:
        the attempt as it ended, or as it was if another launcher has the run by now; None in the run, which has
        to continue by itself.
    """
    successor = folder.place(attempt.run, attempt.number + 1)
    if successor.exists():
        return attempt
    signals, slot, output = _Signals(), HeldSlot(folder, attempt), folder.output(attempt.run)
    begun = output.stat().st_size if output.exists() else 0
    parent = os.getpid()
    # a signal that comes to the run before it has let go of our handlers would be lost
    held = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT, signal.SIGTERM))
    pid = start()
    if pid == 0:
        signals.restore()
        signal.pthread_sigmask(signal.SIG_SETMASK, held)
        # saves, as on any SIGTERM, when its supervisor is gone
        end_with_parent(signal.SIGTERM, parent)
        return None
    signal.pthread_sigmask(signal.SIG_SETMASK, held)
    attempt = replace(attempt, pid=parent, born=born(parent), run_pid=pid, run_born=born(pid))
    folder.write(attempt)
    renewed, sent, taken_over = time.monotonic(), 0, False
    while True:
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            break
        signals.wait(min(LOOK, attempt.lease / RENEWALS))
        if successor.exists():
            taken_over = True
            os.kill(pid, signal.SIGKILL)
        asked = signals.stops or int(folder.stop.exists() or folder.is_dropped(attempt.run))
        if asked > sent:
            sent = asked
            os.kill(pid, signal.SIGTERM if sent == 1 else signal.SIGKILL)
        if time.monotonic() - renewed >= attempt.lease / RENEWALS and not taken_over:
            renewed = time.monotonic()
            attempt = _with_progress(folder, attempt)
            folder.write(attempt)
    signals.restore()
    slot.leave()
    if not taken_over and not successor.exists():
        attempt = _ended(folder, attempt, os.waitstatus_to_exitcode(status), sent > 0, begun)
        folder.write(attempt)
    return attempt


def _ended(folder: SuiteFolder, attempt: Attempt, code: int, asked: bool, begun: int) -> Attempt:
    """The attempt with the end of its run, which was `asked` to stop, and had `begun` bytes of output before it."""
    error = "" if code == 0 else _last_lines(folder.output(attempt.run), begun)
    signalled = code < 0 or code in SIGNALLED
    if code == 0:
        state = DONE
    elif asked and signalled:
        state, error = DROPPED if folder.is_dropped(attempt.run) else STOPPED, ""
    elif signalled or IN_USE in error:
        state = LOST
        error = f"Ended by {signal.Signals(-code).name}." if code < 0 else error
    else:
        state = FAILED
    return replace(_with_progress(folder, attempt), state=state, exit_code=code, error=error, ended=time.time())


def _with_progress(folder: SuiteFolder, attempt: Attempt) -> Attempt:
    found = progress(folder.results, attempt.token)
    return attempt if found is None else replace(attempt, steps=found[0], seconds=found[1])


def _last_lines(path: Path, begun: int) -> str:
    """The last lines that were printed since the file had `begun` bytes."""
    try:
        with open(path, "rb") as file:
            end = file.seek(0, os.SEEK_END)
            file.seek(max(begun, end - 4 * LONGEST_ERROR))
            text = file.read(4 * LONGEST_ERROR).decode(errors="replace")
    except OSError:
        return ""
    lines = [line.rstrip() for line in text.splitlines() if line.strip()]
    return escaped("\n".join(lines[-LAST_LINES:]))[-LONGEST_ERROR:]


class _Signals:
    """Notes SIGTERM and SIGINT, and wakes up when a child ends; `stops`: how many signals to stop have come."""

    def __init__(self) -> None:
        self.stops = 0
        self._passed_on = -TOGETHER
        self._reader, self._writer = os.pipe()
        for end in (self._reader, self._writer):
            os.set_blocking(end, False)
        self._wakeup = signal.set_wakeup_fd(self._writer, warn_on_full_buffer=False)
        handlers = {signal.SIGTERM: self._note, signal.SIGINT: self._note, signal.SIGCHLD: lambda *_: None}
        handlers[PASSED_ON] = self._note_passed_on
        self._before = {signum: signal.signal(signum, handler) for signum, handler in handlers.items()}

    def _note(self, *_: object) -> None:
        self.stops += time.monotonic() - self._passed_on > TOGETHER

    def _note_passed_on(self, *_: object) -> None:
        if not self.stops:
            self.stops, self._passed_on = 1, time.monotonic()

    def wait(self, seconds: float) -> None:
        """Until a signal comes, at most `seconds`."""
        if select.select([self._reader], [], [], seconds)[0]:
            with suppress(BlockingIOError):
                os.read(self._reader, 4096)

    def restore(self) -> None:
        """Leave signals as they were."""
        signal.set_wakeup_fd(self._wakeup)
        for signum, handler in self._before.items():
            signal.signal(signum, handler)
        os.close(self._reader)
        os.close(self._writer)
