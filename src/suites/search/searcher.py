"""A search that learns from its trials, by launchers that share nothing but the suite's folder.

The files of the trials are the record: how many there are, what they are, and how they ended. A lock, which ends with
the process that has it, lets one launcher at a time make and end trials. Where a file system has no locks, the files
still let exactly one launcher make each trial.
"""

import contextlib
import math
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from records.layout import RUNS
from suites.plan.search import Search, nested
from suites.search.guide import Guide
from suites.search.per_minute import PerMinute
from suites.search.population import Population
from suites.search.study import Study
from suites.state.runs import DONE, FAILED, SuiteRun
from suites.state.scores import Scores, failure_of, settings_text
from suites.state.state import Attempt, SuiteFolder
from suites.state.table import last_line
from suites.state.trials import AXIS, PRUNED, End, Trial, TrialFolder
from utils.errors import ConfigError

LOCK, JOURNAL = "lock", "optuna.journal"
# seconds between looks at the tests of trials that are under way
TESTS = 5.0


class Searcher:
    """Makes trials, ends poor ones, and writes down what they have come to.

    Args:
        make: the runs of a trial, from its name and its nested settings; and, of a population, from what each has
            besides, by its value on each axis.
        lengths: of a population, the steps of whole runs, by `place_of` them.
        say: called with a line about a trial.
        retry_failed: whether trials that have failed are tried again, once.
    """

    def __init__(
        self,
        folder: SuiteFolder,
        search: Search,
        make: Callable[..., list[SuiteRun]],
        say: Callable[[str], Any],
        retry_failed: bool = False,
        lengths: Mapping[tuple, int] | None = None,
    ):
        self._folder, self._search, self._make, self._say = folder, search, make, say
        self._plan = folder.plan()
        self._trials = TrialFolder(folder.path, self._plan.folder)
        self._scores = Scores(folder.results, self._plan)
        self._newest: Mapping[str, Attempt] = {}
        self._study: Guide
        match search.options["method"]:
            case "pbt":
                self._study = Population(search, self._plan.better)
            case "per_minute":
                self._study = PerMinute(search, self._plan.better)
            case _:
                self._study = Study(search, self._course)
        self._lengths = lengths or {}
        # those that the search makes of the trials' settings: these are started, whatever the files say
        self._runs: dict[str, list[SuiteRun]] = {}
        self._retries, self._looked = retry_failed, 0.0
        self.unfinished = True

    def look(self, newest: Mapping[str, Attempt], room: int) -> list[SuiteRun]:
        """The runs of all trials that have not ended, after those were made or ended that it was time for.

        `room`: how many more runs could begin here than there are.
        """
        self._newest = newest
        trials = self._read()
        if self._is_due(trials, room):
            with _held(self._trials.path / LOCK) as held:
                if held:
                    self._work(room)
            trials = self._read()
        more = len(trials) < self._plan.trials and not self._study.is_stuck(trials)
        self.unfinished = more or any(trial.end is None for trial in trials)
        return [run for trial in trials if trial.end is None for run in self._runs[trial.name]]

    def _read(self) -> list[Trial]:
        """All trials; ConfigError: a file of one is damaged, or was not made of this search."""
        trials = self._trials.all()
        for trial in trials:
            if trial.end is None and trial.name not in self._runs:
                self._runs[trial.name] = self._made(trial)
        return trials

    def _made(self, trial: Trial) -> list[SuiteRun]:
        """The runs that the search makes of a trial's settings, which are those of its file."""
        made, why = [], ""
        if self._search.holds(trial.settings):
            settings = {tuple(key.split(".")): value for key, value in trial.settings.items()}
            try:
                made = self._runs_of(trial.number, nested(settings), trial.parent)
            except ConfigError as error:
                why = f" ({error})"
        if [run.id for run in made] != [run.id for run in trial.runs]:
            raise ConfigError(
                f"{self._trials.path / trial.name}.json: its runs are not those that the suite's file makes of its "
                f"settings{why}. Trials may come from others: check them and remove {self._trials.path}, or choose "
                "another folder with --results."
            )
        return made

    def _runs_of(self, number: int, settings: dict[str, Any], parent: int) -> list[SuiteRun]:
        """The runs of a trial. Raises: ConfigError: one is refused, or `parent` is no trial that it could have."""
        if not self._plan.members:
            return self._make(f"t{number}", settings)
        generation, origins = self._plan.generation(number), {}
        if parent:
            found = {trial.number: trial for trial in self._trials.all()}.get(parent)
            if found is None or self._plan.generation(parent) != generation - 1:
                raise ConfigError(f"t{parent} is no trial of the generation before")
            origins = {place_of(run.axes): self._newest[run.id].token for run in found.runs if run.id in self._newest}
        share = generation / (self._plan.trials / self._plan.members)

        def more(axes: Mapping[str, Any]) -> dict[str, Any]:
            place = place_of(axes)
            stop = {"stop_at": round(share * self._lengths[place])} if share < 1 else {}
            if not parent:
                return stop
            if place not in origins:
                raise ConfigError(f"t{parent} has no such run")
            return {**stop, "branch_from": str(self._folder.results / RUNS / origins[place])}

        return self._make(f"t{number}", settings, more)

    def _is_due(self, trials: list[Trial], room: int) -> bool:
        running = [trial for trial in trials if trial.end is None]
        if self._retries or (room > 0 and len(trials) < self._plan.trials):
            return True
        if any(self._end_of(trial) is not None for trial in running):
            return True
        if self._search.prunes and running and time.monotonic() - self._looked >= TESTS:
            self._looked = time.monotonic()
            return True
        return False

    def _work(self, room: int) -> None:
        if self._retries:
            self._retries = False
            for trial in self._read():
                if trial.end is not None and trial.end.state == FAILED and trial.runs:
                    self._retry(trial)
        trials, dropped = self._read(), self._folder.dropped()
        self._study.learn(trials)
        for trial in trials:
            if trial.end is None and (end := self._end_of(trial) or self._pruned(trial, dropped)) is not None:
                self._end(trial, end)
        trials = self._read()
        self._study.learn(trials)
        number = max((trial.number for trial in trials), default=0)
        while room > 0 and number < self._plan.trials and not self._study.is_stuck(trials):
            number += 1
            if not (made := self._create(number)):
                break
            room -= made
        self._study.write_journal(self._trials.path / JOURNAL)

    def _create(self, number: int) -> int:
        """Make a trial; return the number of its runs."""
        if (found := self._study.ask(number)) is None:
            return 0
        runs, refused = [], ""
        try:
            runs = self._runs_of(number, nested(found.settings), found.parent)
        except ConfigError as error:
            refused = str(error)
        for run in runs:
            self._folder.want(run.id)  # an earlier search may have dropped the same run
        settings = {".".join(path): value for path, value in found.settings.items()}
        trial = Trial(number, settings, runs, exact=found.exact, parent=found.parent)
        if not self._trials.create(trial):  # another launcher has made the one with this number
            self._study.forget()
            self._study.learn(self._read())
            return 0
        origin = f" (continues t{trial.parent})" if trial.parent else ""
        self._say(f"{trial.name}: {settings_text(trial.settings)}{origin}")
        if refused:
            self._end(trial, End(FAILED, error=refused))
            self._study.learn(self._read())
        return len(runs)

    def _course(self, trial: Trial) -> list[float]:
        return self._scores.course(trial.runs, self._newest)

    def _end_of(self, trial: Trial) -> End | None:
        """How a trial has ended by its runs; None: it has not."""
        if (failure := failure_of(trial, self._newest)) is not None:
            return End(FAILED, error=failure)
        if any(run.id not in self._newest or self._newest[run.id].state != DONE for run in trial.runs):
            return None
        value = self._scores.value(trial.runs, self._newest)
        if value is None:
            return End(FAILED, error=f"Its runs have not logged {self._plan.metric or 'a test'}.")
        return End(DONE, value) if math.isfinite(value) else End(FAILED, error=f"Its value is {value}.")

    def _pruned(self, trial: Trial, dropped: set[str]) -> End | None:
        """The end of a poor trial, or None; a launcher was killed while it ended a trial that has dropped runs."""
        if not dropped.isdisjoint(run.id for run in trial.runs) or self._study.report(trial):
            course = self._course(trial)
            return End(PRUNED, course[-1] if course else None)
        return None

    def _end(self, trial: Trial, end: End) -> None:
        if end.state != DONE:
            for run in trial.runs:
                if run.id not in self._newest or self._newest[run.id].state not in (DONE, FAILED):
                    self._folder.drop(run.id)
        course = self._course(trial) if self._search.prunes else []
        seconds = sum(self._newest[run.id].seconds for run in trial.runs if run.id in self._newest)
        self._trials.end(trial, replace(end, course=course, minutes=seconds / 60))
        value = "" if end.value is None else f", {self._plan.metric or 'value'} {end.value:.4g}"
        self._say(f"{trial.name}: {end.state}{value}" + (f": {last_line(end.error)}" if end.error else ""))

    def _retry(self, trial: Trial) -> None:
        for run in trial.runs:
            self._folder.want(run.id)
        attempts = [self._newest[run.id] for run in trial.runs if run.id in self._newest]
        self._trials.retry(trial, {one.run: one.number for one in attempts if one.state == FAILED})


def place_of(axes: Mapping[str, Any]) -> tuple:
    """Which of a trial's runs one is: its values on all axes but the trial's."""
    return tuple(sorted((axis, value) for axis, value in axes.items() if axis != AXIS))


@contextlib.contextmanager
def _held(path: Path) -> Iterator[bool]:
    """A lock, if nobody else has it; whether this process has it now."""
    with open(path, "ab") as file:
        try:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
            return
        except (ImportError, OSError):  # a file system or machine without locks
            pass
        yield True
