"""A suite at a glance: how far the runs of each algorithm are on each map."""

import dataclasses
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from records.metric_log import progress
from records.recorded import newest_step
from records.tokens import is_token
from suites.state.runs import DONE, DROPPED, FAILED, LOST, RUNNING, STOPPED, WAITING, SuiteRun
from suites.state.state import Attempt, SuiteFolder
from suites.state.trials import AXIS


@dataclass
class Cell:
    """The runs of one algorithm on one map, or any runs.

    Attributes:
        done, running, failed, waiting, dropped: how many; those that were stopped or lost wait.
        steps, all_steps: environment steps that are done, and that there will be.
        speeds: steps per second of training, of each run that has trained.
        left: steps of the runs that are not done and have not failed.
        error: the last one of a run that failed.
        failed_at: when that was.
    """

    algorithm: str = ""
    map: str = ""
    done: int = 0
    running: int = 0
    failed: int = 0
    waiting: int = 0
    dropped: int = 0
    steps: int = 0
    all_steps: int = 0
    speeds: list[float] = field(default_factory=list)
    left: int = 0
    error: str = ""
    failed_at: float = 0.0

    @property
    def runs(self) -> int:
        """How many runs there are."""
        return self.done + self.running + self.failed + self.waiting + self.dropped

    @property
    def percent(self) -> float:
        """Of the steps, those that are done."""
        return 100 * self.steps / max(self.all_steps, 1)

    def counts(self) -> list[str]:
        """How many runs are under way, wait and have failed, in words."""
        failed = [f"{self.failed} failed"] if self.failed else []
        return [f"{self.running} running", f"{self.waiting} waiting", *failed]

    @property
    def speed(self) -> float | None:
        """Steps per second of a run, the mean."""
        return sum(self.speeds) / len(self.speeds) if self.speeds else None

    def seconds_left(self, speed: float | None = None) -> float | None:
        """Seconds until all are done, if they run one after the other; `speed`: where none of them has trained yet."""
        if not self.left:
            return 0.0
        speed = self.speed or speed
        return self.left / speed if speed else None

    def add(self, run: SuiteRun, attempt: Attempt | None) -> None:
        """Count one run."""
        attempt = attempt or Attempt(run.id, 0, state=WAITING)
        state = WAITING if attempt.state in (STOPPED, LOST) else attempt.state
        setattr(self, state, getattr(self, state) + 1)
        steps = run.t_max if state == DONE else min(attempt.steps, run.t_max)
        self.steps += steps
        self.all_steps += steps if state == DROPPED else run.t_max
        if state in (RUNNING, WAITING):
            self.left += run.t_max - steps
        if attempt.steps > 0 and attempt.seconds > 0:
            self.speeds.append(attempt.steps / attempt.seconds)
        if state == FAILED and attempt.ended >= self.failed_at:
            self.error, self.failed_at = attempt.error, attempt.ended


@dataclass
class SuiteTable:
    """The cells in the order of the suite, and their sum."""

    cells: list[Cell]
    total: Cell

    def seconds_left(self) -> float | None:
        """Seconds until the suite is done, with as many runs at a time as now; None if that is not known."""
        each = [cell.seconds_left(self.total.speed) for cell in self.cells]
        return None if None in each else sum(filter(None, each)) / max(self.total.running, 1)


def suite_table(runs: Iterable[SuiteRun], newest: Mapping[str, Attempt]) -> SuiteTable:
    """The table of these runs; those of all trials of a search are counted together; `newest`: attempt by run."""
    runs = list(runs)
    several = len({run.environment for run in runs}) > 1
    cells: dict[tuple[str, str], Cell] = {}
    total = Cell()
    for run in runs:
        place = run.algorithm.removesuffix(f"+{run.choices.get(AXIS)}"), map_name(run, several)
        for one in (cells.setdefault(place, Cell(*place)), total):
            one.add(run, newest.get(run.id))
    return SuiteTable(list(cells.values()), total)


def map_name(run: SuiteRun, several: bool) -> str:
    """The map of a run; with its environment, where a suite has `several`, which may have maps of the same name."""
    if not run.map:
        return run.environment
    return f"{run.environment}/{run.map}" if several else run.map


def last_line(error: str) -> str:
    """The last line of an error, which says the most."""
    return error.strip().splitlines()[-1] if error.strip() else ""


def live(folder: SuiteFolder, newest: Mapping[str, Attempt]) -> dict[str, Attempt]:
    """The attempts with the newest steps of the runs that are under way: their supervisors write them down rarely.

    Those that were stopped or lost have the steps of the checkpoint from which they resume.

    Runs that are not wanted any more, and that nobody works on, are among them as dropped.
    """
    found = {run: _with_steps(folder, attempt) for run, attempt in newest.items()}
    for run in folder.dropped():
        attempt = found.get(run, Attempt(run, 0, state=DROPPED))
        if attempt.state not in (DONE, FAILED, RUNNING):
            found[run] = dataclasses.replace(attempt, state=DROPPED)
    return found


def _with_steps(folder: SuiteFolder, attempt: Attempt) -> Attempt:
    if attempt.state in (STOPPED, LOST) and is_token(attempt.token):
        steps = newest_step(folder.results, attempt.token) or 0
        # as fast as it was
        seconds = attempt.seconds * steps / attempt.steps if attempt.steps else 0.0
        return dataclasses.replace(attempt, steps=steps, seconds=seconds)
    if attempt.state != RUNNING or (found := progress(folder.results, attempt.token)) is None:
        return attempt
    return dataclasses.replace(attempt, steps=found[0], seconds=found[1])
