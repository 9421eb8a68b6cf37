"""What the trials of a suite's search have come to, from the metric logs of their runs."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from records.best_model import RANKED_BY
from records.layout import METRICS, RUNS
from records.limits import LARGEST
from records.metric_rows import read_rows, whole_lines
from records.run_score import score_of
from records.tokens import is_token
from suites.state.runs import SuiteRun
from suites.state.state import DONE, WAITING, Attempt, SuiteFolder
from suites.state.state import FAILED as RUN_FAILED
from suites.state.trials import DONE as TRIAL_DONE
from suites.state.trials import FAILED, PRUNED, RUNNING, SearchPlan, Trial
from utils.files.regular_files import read_regular
from utils.numbers.interquartile import iqm
from utils.plain_values import counted, shown

_ORDER = (TRIAL_DONE, RUNNING, WAITING, PRUNED, FAILED)


class Scores:
    """The values of the statistic that a search goes by; logs that have not changed are not read again.

    Args:
        results: the folder of all results.
    """

    def __init__(self, results: Path, plan: SearchPlan):
        self._results, self._plan = results, plan
        self._keys = (plan.metric,) if plan.metric else RANKED_BY
        self._read: dict[str, tuple[tuple[int, int], dict[str, np.ndarray]]] = {}

    def value(self, runs: Sequence[SuiteRun], newest: Mapping[str, Attempt]) -> float | None:
        """The value of runs that are done: the mean over algorithms and maps of the interquartile mean over seeds.

        Each run counts with the mean of its last values. None: they have not all logged the statistic.
        """
        series = self._of_all(runs, newest)
        return None if series is None else self._mean(runs, [score_of(values, self._plan.last) for values in series])

    def course(self, runs: Sequence[SuiteRun], newest: Mapping[str, Attempt]) -> list[float]:
        """The value after each test so far, if the runs had come one after the other.

        Tests of a run count when all runs before it are done: so the k-th value of every trial is made of as many runs
        and tests, however many run at a time.
        """
        begun = []
        for run in runs:
            begun.append(run)
            if (attempt := newest.get(run.id)) is None or attempt.state != DONE:
                break
        key = self._key(begun[:1], newest)
        course, scores, last = [], [], self._plan.last
        for run in begun if key else ():
            values = self._series(newest, run).get(key, np.empty(0))
            latest = [score_of(values[max(end - last, 0) : end], last) for end in range(1, len(values) + 1)]
            course += [self._mean(runs, [*scores, score]) for score in latest]
            scores += latest[-1:]
        return course

    def _of_all(self, runs: Sequence[SuiteRun], newest: Mapping[str, Attempt]) -> list[np.ndarray] | None:
        key = self._key(runs, newest)
        return None if key is None else [self._series(newest, run)[key] for run in runs]

    def _key(self, runs: Sequence[SuiteRun], newest: Mapping[str, Attempt]) -> str | None:
        """The first statistic that all of them have logged."""
        series = [self._series(newest, run) for run in runs]
        return next((key for key in self._keys if series and all(key in one for one in series)), None)

    @staticmethod
    def _mean(runs: Sequence[SuiteRun], scores: Sequence[float]) -> float:
        """Of the scores of the first runs."""
        alike: dict[tuple, list[float]] = {}
        for run, score in zip(runs, scores, strict=False):
            alike.setdefault((run.algorithm, run.environment, run.map), []).append(score)
        return float(np.mean([iqm(np.array(group)) for group in alike.values()]))

    def _series(self, newest: Mapping[str, Attempt], run: SuiteRun) -> dict[str, np.ndarray]:
        """The values that a run has logged, by statistic; without those that have none."""
        token = newest[run.id].token if run.id in newest else ""
        if not is_token(token):
            return {}
        path = self._results / RUNS / token / METRICS
        try:
            status = os.lstat(path)
            stamp = status.st_mtime_ns, status.st_size
            known = self._read.get(token)
            if known is None or known[0] != stamp:
                body = whole_lines(read_regular(path, LARGEST[METRICS])) or b""
                found = {key: rows.value for key, rows in read_rows(body, self._keys).items()}
                self._read[token] = known = stamp, found
        except OSError:
            return {}
        return known[1]


@dataclass(frozen=True)
class TrialRow:
    """A line of the table of trials.

    Attributes:
        state: how it ended; or "running", or "waiting".
        value: None while it is under way, and of one that failed.
        done: how many of its runs are done.
    """

    trial: Trial
    state: str
    value: float | None
    done: int
    error: str


def trial_rows(folder: SuiteFolder, newest: Mapping[str, Attempt]) -> tuple[SearchPlan, list[TrialRow]]:
    """The trials of a suite's search: first those that are done, the best first, and at the end those that failed.

    Raises:
        ConfigError: a file of the suite is damaged.
    """
    content = folder.content()
    plan = SearchPlan.of(content)
    scores = Scores(folder.results, plan)
    rows = [_row(trial, newest, scores) for trial in folder.trials(content)] if plan.method else []
    rows.sort(key=lambda row: (_ORDER.index(row.state), -_rank(plan, row.value), row.trial.number))
    return plan, rows


def trials_summary(plan: SearchPlan, rows: Sequence[TrialRow]) -> str:
    """One line: how many trials are in which state, and the best one."""
    states = [row.state for row in rows]
    parts = [f"{states.count(state)} {state}" for state in dict.fromkeys(states)]
    line = f"{len(rows)} of {counted(plan.trials, 'trial')}" + (f": {', '.join(parts)}" if parts else "")
    if rows and rows[0].state == TRIAL_DONE and rows[0].value is not None:
        settings = " ".join(f"{key}={shown(value)}" for key, value in rows[0].trial.settings.items())
        line += f". The best: {rows[0].trial.name} with {rows[0].value:.4g} ({settings})"
    return line


def failure_of(trial: Trial, newest: Mapping[str, Attempt]) -> str | None:
    """The error of the first of a trial's runs that has failed, and is not tried again; None if there is no such."""
    for run in trial.runs:
        attempt = newest.get(run.id)
        if attempt and attempt.state == RUN_FAILED and attempt.number > trial.retried.get(run.id, 0):
            return attempt.error
    return None


def _rank(plan: SearchPlan, value: float | None) -> float:
    return -np.inf if value is None else plan.better(value)


def _row(trial: Trial, newest: Mapping[str, Attempt], scores: Scores) -> TrialRow:
    states = [newest[run.id].state if run.id in newest else WAITING for run in trial.runs]
    done, value, error = states.count(DONE), None, ""
    if trial.end is not None:
        state, value, error = trial.end.state, trial.end.value, trial.end.error
    elif (failure := failure_of(trial, newest)) is not None:
        state, error = FAILED, failure
    elif done == len(states):
        value = scores.value(trial.runs, newest)
        state = TRIAL_DONE
    else:
        state = WAITING if set(states) == {WAITING} else RUNNING
    return TrialRow(trial, state, value, done, error)
