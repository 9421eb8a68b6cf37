"""What a launcher shows: a line for each run that begins or ends, and below, on a terminal, how far the suite is."""

import time
from collections.abc import Mapping
from typing import Any, TextIO

from suites.state.runs import DONE, DROPPED, FAILED, LOST, RUNNING, STOPPED, SuiteRun
from suites.state.state import Attempt, SuiteFolder
from suites.state.table import live, suite_table
from utils.console import ERASE_BELOW, terminal_width
from utils.timehelper import about

# seconds between drawings of the last line; where there is no terminal, between lines
REDRAW, SAY = 1.0, 300.0
# the last line stands below the cursor, at whose place other processes may print lines of their own
DRAW = "\n{line}\x1b[A\r"
_WORDS = {
    DONE: "done",
    FAILED: "failed",
    LOST: "lost, and waits for another attempt",
    STOPPED: "stopped",
    DROPPED: "dropped with its trial",
}


class Progress:
    """Shows a suite's progress on a terminal or in a file; `count`: how many runs there will be."""

    def __init__(self, folder: SuiteFolder, runs: list[SuiteRun], stream: TextIO, count: int):
        self._folder, self._stream, self._count = folder, stream, count
        self._know(runs)
        self._terminal = stream.isatty()
        self._drawn, self._line = time.monotonic(), ""

    def __enter__(self) -> "Progress":
        return self

    def __exit__(self, *_: Any) -> None:
        self._erase()

    def report(self, attempt: Attempt) -> None:
        """Say that a run has begun or ended."""
        if attempt.run not in self._places:
            self._know(self._folder.runs())
        place = f"[{self._places.get(attempt.run, 0):>{len(str(self._count))}}/{self._count}]"
        if attempt.state == RUNNING:
            where = f", from step {attempt.resumed}" if attempt.resumes else ""
            self.say(f"{place} {attempt.run}: {'resumed' if attempt.resumes else 'started'}{where}")
            return
        seconds = about(max(attempt.ended - attempt.claimed, 0))
        self.say(f"{place} {attempt.run}: {_WORDS[attempt.state]} after {seconds}")
        if attempt.error and attempt.state in (FAILED, LOST):
            self.say("    " + attempt.error.splitlines()[-1])

    def look(self, newest: Mapping[str, Attempt]) -> None:
        """Draw the last line, if it is time to."""
        if time.monotonic() - self._drawn < (REDRAW if self._terminal else SAY):
            return
        self._drawn = time.monotonic()
        table = suite_table(self._runs, live(self._folder, newest))
        total, left = table.total, table.seconds_left()
        parts = [f"{total.done}/{total.runs} done", *total.counts(), f"{total.percent:.0f} % of the steps"]
        parts += [f"about {about(left)} left"] if left is not None else []
        line = " · ".join(parts)
        if self._terminal:
            self._erase()
            self._line = line[: (terminal_width(self._stream) or 80) - 1]
            print(DRAW.format(line=self._line), end="", file=self._stream, flush=True)
        else:
            print(line, file=self._stream, flush=True)

    def _know(self, runs: list[SuiteRun]) -> None:
        self._runs = runs
        self._places = {run.id: number for number, run in enumerate(runs, 1)}

    def say(self, text: str) -> None:
        """Print a line above the last one."""
        line = self._line
        self._erase()
        print(text, file=self._stream)
        if line:
            self._line = line
            print(DRAW.format(line=line), end="", file=self._stream)
        self._stream.flush()

    def _erase(self) -> None:
        if self._line:
            print(ERASE_BELOW, end="", file=self._stream, flush=True)
            self._line = ""
