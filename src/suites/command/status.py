"""`suite.py status` and `suite.py stop`."""

import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass

from suites.command.hints import command
from suites.launch import slurm
from suites.launch.leases import Leases
from suites.state.runs import RUNNING
from suites.state.scores import TrialRow, trial_rows, trials_summary
from suites.state.state import SuiteFolder
from suites.state.table import Cell, SuiteTable, last_line, live, suite_table
from suites.state.trials import SearchPlan
from utils.console import terminal_width
from utils.files.whole_files import write_whole
from utils.own_commands import as_typed
from utils.plain_values import counted, quoted
from utils.timehelper import about

# seconds between drawings, and between looks
REDRAW, LOOK = 2.0, 0.5
# seconds between questions to SLURM's controller, which serves the whole site
ASK = 30.0
# trials of the table
MOST_SHOWN = 20
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
    """The table as text; `width`: columns; longer lines are cut. None: as long as they are."""
    cells, left = table.cells, [cell.seconds_left(table.total.speed) for cell in table.cells]
    columns = [
        Column("algorithm", [cell.algorithm for cell in cells], text=True),
        Column("map", [cell.map for cell in cells], text=True),
        Column("done", [f"{cell.done}/{cell.runs}" for cell in cells]),
        Column("running", [str(cell.running or "") for cell in cells]),
        Column("failed", [str(cell.failed or "") for cell in cells]),
        Column("steps", [f"{cell.percent:.0f} %" for cell in cells]),
        Column("steps/s", [f"{cell.speed:,.0f}" if cell.speed else "" for cell in cells]),
        Column("left", [about(seconds) if seconds else "" for seconds in left]),
        Column("last error", [last_line(cell.error) for cell in cells], text=True),
    ]
    return "\n".join([summary(folder, table)[:width], "", *lines_of(columns, width)])


def summary(folder: SuiteFolder, table: SuiteTable) -> str:
    """One line about the whole suite."""
    total, left = table.total, table.seconds_left()
    parts = [f"{total.done} of {counted(total.runs, 'run')} done", *total.counts()]
    parts += [f"{total.dropped} dropped by the search"] if total.dropped else []
    parts += [f"about {about(left)} left"] if left and total.running else []
    parts += ["stopping"] if folder.stop.exists() and total.running else []
    return f"{folder.name}: {', '.join(parts)}"


def trials_text(plan: SearchPlan, rows: Sequence[TrialRow], width: int | None = None) -> str:
    """The best trials, and those that are under way.

    Args:
        rows: all of them, in order.
        width: columns; longer lines are cut. None: as long as they are.
    """
    best = rows[:MOST_SHOWN]
    settings = dict.fromkeys(key for row in best for key in row.trial.settings)
    columns = [
        Column("trial", [row.trial.name for row in best], text=True),
        Column("state", [row.state for row in best], text=True),
        Column(plan.metric or "value", ["" if row.value is None else f"{row.value:.4g}" for row in best]),
        Column("runs", [f"{row.done}/{len(row.trial.runs)}" for row in best]),
        *_lineage(plan, best),
        *([Column("minutes", [_minutes(row) for row in best])] if plan.method == "per_minute" else []),
        *(Column(key, [quoted(row.trial.settings.get(key, "")) for row in best]) for key in settings),
        Column("last error", [last_line(row.error) for row in best], text=True),
    ]
    lines = [trials_summary(plan, rows)[:width], "", *lines_of(columns, width)]
    if len(rows) > MOST_SHOWN:
        lines.append(as_typed(f"... and {len(rows) - MOST_SHOWN} more: suite.py report lists all.")[:width])
    return "\n".join(lines)


def _minutes(row: TrialRow) -> str:
    return f"{row.trial.end.minutes:.2g}" if row.trial.end is not None else ""


def _lineage(plan: SearchPlan, rows: Sequence[TrialRow]) -> list["Column"]:
    """Of a population: generation, member, and the trial that was copied."""
    if not plan.members:
        return []
    trials = [row.trial for row in rows]
    return [
        Column("gen.", [str(plan.generation(trial.number)) for trial in trials]),
        Column("member", [str(plan.member(trial.number)) for trial in trials]),
        Column("copied", [f"t{trial.parent}" if plan.copies(trial) else "" for trial in trials]),
    ]


@dataclass(frozen=True)
class Column:
    """A column of a table. `text`: its cells begin below one another; those of others end there."""

    heading: str
    cells: list[str]
    text: bool = False


def lines_of(columns: Sequence[Column], width: int | None = None) -> list[str]:
    """The lines of a table, without the columns in which nothing stands."""
    blocks = []
    for column in columns:
        if any(column.cells):
            cells = [column.heading, *column.cells]
            size = max(map(len, cells))
            blocks.append([cell.ljust(size) if column.text else cell.rjust(size) for cell in cells])
    return ["  ".join(cells).rstrip()[:width] for cells in zip(*blocks, strict=True)]


def stop(folder: SuiteFolder) -> None:
    """Ask all runs of a suite to save and stop, on whatever machine, and wait for them."""
    leases, newest = Leases(folder), live(folder, folder.newest())
    total = suite_table(folder.runs(), newest).total
    if total.runs and not _unfinished(total, *trial_rows(folder, newest)) and not total.failed:
        print(f"{folder.name}: {total.done} of {counted(total.runs, 'run')} done: there is nothing to stop.")
        return
    write_whole(str(folder.stop), b"")
    for job in slurm.cancel_pending(folder):
        print(f"The tasks of job {job} that had not begun are cancelled.")
    last = None
    try:
        while running := [one for one in folder.newest().values() if one.state == RUNNING and not leases.is_over(one)]:
            if len(running) != last:
                last = len(running)
                print(f"{counted(last, 'run')} to stop. Ctrl-C ends this wait, not the stop.", flush=True)
            time.sleep(LOOK)
    except KeyboardInterrupt:
        return
    # launchers end when they see the mark; the next start removes it
    print(f"{folder.name} is stopped; the command that started it resumes it, such as {command(folder, 'run')}")
