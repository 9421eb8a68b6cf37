"""A search that learns from its trials, by launchers that share nothing but the suite's folder.

The files of the trials decide: how many there are, what they are, and how they ended. A lock, which ends with the
process that has it, lets one launcher at a time talk to Optuna and make trials. Where a file system has no locks, the
files still let exactly one launcher make each trial.
"""

import contextlib
import math
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from suites.plan.search import NO_PRUNING, Search, nested
from suites.search.study import Study
from suites.state.runs import SuiteRun
from suites.state.scores import Scores, failure_of
from suites.state.state import DONE as RUN_DONE
from suites.state.state import FAILED as RUN_FAILED
from suites.state.state import Attempt, SuiteFolder
from suites.state.table import last_line
from suites.state.trials import DONE, FAILED, PRUNED, End, SearchPlan, Trial
from utils.errors import ConfigError
from utils.plain_values import shown

LOCK = "lock"
# seconds between looks at the tests of trials that are under way
TESTS = 5.0


class Searcher:
    """Makes trials, ends poor ones, and writes down what they have come to.

    Args:
        folder: the suite's, with its suite.json.
        make: the runs of a trial, from its name and its nested settings.
        say: called with a line about a trial.
        retry_failed: whether trials that have failed are tried again, once.
    """

    def __init__(
        self,
        folder: SuiteFolder,
        search: Search,
        make: Callable[[str, dict[str, Any]], list[SuiteRun]],
        say: Callable[[str], Any],
        retry_failed: bool = False,
    ):
        self._folder, self._make, self._say = folder, make, say
        self._plan = SearchPlan.of(folder.content())
        self._trials = folder.trial_folder(self._plan)
        self._scores = Scores(folder.results, self._plan)
        self._newest: Mapping[str, Attempt] = {}
        self._search, self._known = search, set()
        self._study = Study(self._trials.path, search, lambda trial: self._scores.course(trial.runs, self._newest))
        self._paths, self._prunes = list(search.space), search.options["pruning"] != NO_PRUNING
        self._retries, self._looked = retry_failed, 0.0
        self.unfinished = True

    def look(self, newest: Mapping[str, Attempt], room: int) -> list[SuiteRun]:
        """The runs of all trials that have not ended, after those were made or ended that it was time for.

        Args:
            newest: attempt by run.
            room: how many more runs could begin here than there are.

        Raises:
            ConfigError: a file of a trial is damaged, or has other runs than the search makes.
        """
        self._newest = newest
        trials = self._read()
        if self._is_due(trials, room):
            with _held(self._trials.path / LOCK) as held:
                if held:
                    self._work(self._read(), room)
            trials = self._read()
        self.unfinished = len(trials) < self._plan.trials or any(trial.end is None for trial in trials)
        return [run for trial in trials if trial.end is None for run in trial.runs]

    def _read(self) -> list[Trial]:
        """All trials.

        Raises:
            ConfigError: a file of one is damaged, or was not made of this search.
        """
        trials = self._trials.all()
        for trial in trials:
            if trial.end is None and trial.name not in self._known:
                self._require_ours(trial)
                self._known.add(trial.name)
        return trials

    def _require_ours(self, trial: Trial) -> None:
        """Refuse a trial that was not made of this search: the words of its runs are started as commands."""
        settings = {tuple(key.split(".")): value for key, value in trial.settings.items()}
        made, why = [], ""
        try:
            made = self._make(trial.name, nested(settings)) if self._search.holds(settings) else []
        except ConfigError as error:
            why = f" ({error})"
        if [_commands(run) for run in made] != [_commands(run) for run in trial.runs]:
            raise ConfigError(
                f"{self._trials.path / trial.name}.json: its runs are not those that the suite's file makes of its "
                f"settings{why}. Trials may come from others: check them and remove {self._trials.path}, or choose "
                "another folder with --results."
            )

    def _is_due(self, trials: list[Trial], room: int) -> bool:
        open_ones = [trial for trial in trials if trial.end is None]
        if self._retries or (room > 0 and len(trials) < self._plan.trials):
            return True
        if any(self._end_of(trial) is not None for trial in open_ones):
            return True
        if self._prunes and open_ones and time.monotonic() - self._looked >= TESTS:
            self._looked = time.monotonic()
            return True
        return False

    def _work(self, trials: list[Trial], room: int) -> None:
        self._study.match(trials)
        if self._retries:
            self._retries = False
            for trial in trials:
                if trial.end is not None and trial.end.state == FAILED and trial.runs:
                    self._retry(trial)
            trials = self._read()
        for trial in trials:
            if trial.end is None and (end := self._end_of(trial) or self._pruned(trial)) is not None:
                self._end(trial, end)
        number = max((trial.number for trial in trials), default=0)
        while room > 0 and number < self._plan.trials:
            number += 1
            room -= self._create(number)

    def _create(self, number: int) -> int:
        """Make a trial; return the number of its runs."""
        found = self._study.ask(number)
        settings = {".".join(path): value for path, value in found.items()}
        runs, refused = [], ""
        try:
            runs = self._make(f"t{number}", nested(found))
        except ConfigError as error:
            refused = str(error)
        for run in runs:
            self._folder.want(run.id)  # an earlier search may have dropped the same run
        trial = Trial(number, settings, runs)
        if not self._trials.create(trial):
            self._study.lose(number)
            return 0
        self._say(f"{trial.name}: {_words(settings)}")
        if refused:
            self._end(trial, End(FAILED, error=refused))
        return len(runs)

    def _end_of(self, trial: Trial) -> End | None:
        """How a trial has ended by its runs; None: it has not."""
        failure = failure_of(trial, self._newest)
        if failure is not None:
            return End(FAILED, error=failure)
        states = [self._newest[run.id].state if run.id in self._newest else "" for run in trial.runs]
        if any(state != RUN_DONE for state in states):
            return None
        value = self._scores.value(trial.runs, self._newest)
        if value is None or not math.isfinite(value):
            what = self._plan.metric or "a test"
            return End(FAILED, error=f"Its runs have not logged {what}." if value is None else f"Its value is {value}.")
        return End(DONE, value)

    def _pruned(self, trial: Trial) -> End | None:
        if not self._prunes:
            return None
        # a launcher may have been killed between telling Optuna and writing it down
        if self._study.state(trial) == PRUNED or self._study.is_poor(trial):
            course = self._scores.course(trial.runs, self._newest)
            return End(PRUNED, course[-1] if course else None)
        return None

    def _end(self, trial: Trial, end: End) -> None:
        self._study.tell(trial, end.state, end.value)
        if end.state != DONE:
            for run in trial.runs:
                if run.id not in self._newest or self._newest[run.id].state not in (RUN_DONE, RUN_FAILED):
                    self._folder.drop(run.id)
        self._trials.end(trial, end)
        value = "" if end.value is None else f", {self._plan.metric or 'value'} {end.value:.4g}"
        self._say(f"{trial.name}: {end.state}{value}" + (f": {last_line(end.error)}" if end.error else ""))

    def _retry(self, trial: Trial) -> None:
        self._study.retry(trial)
        for run in trial.runs:
            self._folder.want(run.id)
        failed = {run.id: self._newest[run.id].number for run in trial.runs
                  if run.id in self._newest and self._newest[run.id].state == RUN_FAILED}  # fmt: skip
        self._trials.retry(trial, failed)


def _commands(run: SuiteRun) -> tuple[list[str], list[str]]:
    """What is said to main.py to begin it, and to resume it."""
    return run.words, run.confirmed


def _words(settings: Mapping[str, Any]) -> str:
    return " ".join(f"{key}={shown(value)}" for key, value in settings.items())


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
