"""`suite.py status` and `suite.py stop`."""

import sys
import time
from collections.abc import Sequence

from suites.command.hints import command
from suites.command.trials import aligned, trials_text, without_empty
from suites.launch import slurm
from suites.launch.claims import Claims
from suites.state.scores import TrialRow, trial_rows
from suites.state.state import RUNNING, SuiteFolder
from suites.state.table import Cell, SuiteTable, last_line, live, suite_table
from suites.state.trials import SearchPlan
from utils.console import terminal_width
from utils.files.whole_files import write_whole
from utils.plain_values import counted
from utils.timehelper import about

# seconds between drawings, and between looks
REDRAW, LOOK = 2.0, 0.5
# seconds between questions to SLURM's controller, which serves the whole site
ASK = 30.0
HEADINGS = ("algorithm", "map", "done", "running", "failed", "steps", "steps/s", "left", "last error")
_CLEAR = "\x1b[H\x1b[2J"


def show_status(folder: SuiteFolder, watch: bool) -> None:
    """Print the table of a suite, once or until it is done or Ctrl-C."""
    asked, queue = -ASK, []
    while True:
        newest = live(folder, folder.newest())
        table = suite_table(folder.runs(), newest)
        plan, trials = trial_rows(folder, newest)
        if watch and sys.stdout.isatty():
            print(_CLEAR, end="")
        width = terminal_width(sys.stdout)
        if time.monotonic() - asked >= ASK:
            asked, queue = time.monotonic(), slurm.queue(folder)
        print(status_text(folder, table, width), flush=True)
        if waits := waiting_for(folder, table, queue):
            print("\n" + "\n".join(waits), flush=True)
        if plan.method:
            print("\n" + trials_text(plan, trials, width), flush=True)
        if not watch or not _unfinished(table.total, plan, trials):
            return
        time.sleep(REDRAW)


def waiting_for(folder: SuiteFolder, table: SuiteTable, queue: list[str]) -> list[str]:
    """What the runs that wait are waiting for: SLURM's jobs with its reasons, or somebody who starts them.

    Args:
        queue: `suites.launch.slurm.queue`.
    """
    if queue or not table.total.waiting:
        return queue
    if folder.stop.exists():
        return [f"The suite was stopped; {command(folder, 'run')} resumes it."]
    if not table.total.running:
        return [f"Nothing is running: unless a launcher is at work, the runs wait for {command(folder, 'run')}"]
    return ["The others wait for room: as many run as their launchers' jobs, cores and GPUs allow."]


def _unfinished(total: Cell, plan: SearchPlan, trials: Sequence[TrialRow]) -> int:
    """How many runs, or trials that are to come, are waited for."""
    return total.running + total.waiting + max(plan.trials - len(trials), 0)


def status_text(folder: SuiteFolder, table: SuiteTable, width: int | None = None) -> str:
    """The table as text.

    Args:
        width: columns; longer lines are cut. None: as long as they are.
    """
    rows = [HEADINGS, *(_row(cell, table.total.speed) for cell in table.cells)]
    return "\n".join([summary(folder, table)[:width], "", *aligned(without_empty(rows), 2, width)])


def summary(folder: SuiteFolder, table: SuiteTable) -> str:
    """One line about the whole suite."""
    total, left = table.total, table.seconds_left()
    parts = [
        f"{total.done} of {counted(total.runs, 'run')} done",
        f"{total.running} running",
        f"{total.waiting} waiting",
    ]
    parts += [f"{total.failed} failed"] if total.failed else []
    parts += [f"{total.dropped} dropped by the search"] if total.dropped else []
    parts += [f"about {about(left)} left"] if left and total.running else []
    parts += ["stopping"] if folder.stop.exists() and total.running else []
    return f"{folder.name}: {', '.join(parts)}"


def _row(cell: Cell, speed: float | None) -> tuple[str, ...]:
    left = cell.seconds_left(speed)
    return (
        cell.algorithm,
        cell.map,
        f"{cell.done}/{cell.runs}",
        str(cell.running or ""),
        str(cell.failed or ""),
        f"{100 * cell.steps / max(cell.all_steps, 1):.0f} %",
        f"{cell.speed:,.0f}" if cell.speed else "",
        about(left) if left else "",
        last_line(cell.error),
    )


def stop(folder: SuiteFolder) -> None:
    """Ask all runs of a suite to save and stop, on whatever machine, and wait for them."""
    claims, newest = Claims(folder), live(folder, folder.newest())
    total = suite_table(folder.runs(), newest).total
    if total.runs and not _unfinished(total, *trial_rows(folder, newest)) and not total.failed:
        print(f"{folder.name}: {total.done} of {counted(total.runs, 'run')} done: there is nothing to stop.")
        return
    write_whole(str(folder.stop), b"")
    for job in slurm.cancel_pending(folder):
        print(f"The tasks of job {job} that had not begun are cancelled.")
    last = None
    try:
        while running := [one for one in folder.newest().values() if one.state == RUNNING and not claims.is_over(one)]:
            if len(running) != last:
                last = len(running)
                print(f"{counted(last, 'run')} to stop. Ctrl-C ends this wait, not the stop.", flush=True)
            time.sleep(LOOK)
    except KeyboardInterrupt:
        return
    # launchers end when they see the mark; the next start removes it
    print(f"{folder.name} is stopped; the command that started it resumes it, such as {command(folder, 'run')}")
