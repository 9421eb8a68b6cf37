"""What the trials of a suite's search have come to, from the metric logs of their runs."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from records.best_model import RANKED_BY
from records.layout import METRICS, RUNS
from records.limits import LARGEST_LOG
from records.metric_rows import read_rows, whole_lines
from records.run_score import score_of
from records.tokens import is_token
from suites.state.runs import DONE, FAILED, RUNNING, WAITING, SuiteRun
from suites.state.state import Attempt, SuiteFolder
from suites.state.trials import PRUNED, SearchPlan, Trial
from utils.files.regular_files import read_regular
from utils.numbers.interquartile import iqm
from utils.plain_values import counted, quoted

_ORDER = (DONE, RUNNING, WAITING, PRUNED, FAILED)


class Scores:
    """The values of the statistic that a search goes by; logs that have not changed are not read again."""

    def __init__(self, results: Path, plan: SearchPlan):
        self._results, self._plan = results, plan
        self._keys = (plan.metric,) if plan.metric else RANKED_BY
        self._read: dict[str, tuple[tuple[int, int], dict[str, np.ndarray]]] = {}

    def value(self, runs: Sequence[SuiteRun], newest: Mapping[str, Attempt]) -> float | None:
        """The value of runs that are done: the mean over algorithms and maps of the interquartile mean over seeds.

        Each run counts with the mean of its last values. None: they have not all logged the statistic.
        """
        key = self._key(runs, newest)
        if key is None:
            return None
        return self._mean(runs, [score_of(self._series(newest, run)[key], self._plan.last) for run in runs])

    def course(self, runs: Sequence[SuiteRun], newest: Mapping[str, Attempt]) -> list[float]:
        """The value after each test so far, if the runs had come one after the other.

        Tests of a run count when all runs before it are done: so the k-th value of every trial is made of as many runs
        and tests, however many run at a time.
        """
        course: list[float] = []
        scores: list[float] = []
        key, last = self._key(runs[:1], newest), self._plan.last
        if key is None:
            return []
        for run in runs:
            values = self._series(newest, run).get(key, np.empty(0))
            latest = [score_of(values[max(end - last, 0) : end], last) for end in range(1, len(values) + 1)]
            course += [self._mean(runs, [*scores, score]) for score in latest]
            scores += latest[-1:]
            if (attempt := newest.get(run.id)) is None or attempt.state != DONE:
                break
        return course

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
                body = whole_lines(read_regular(path, LARGEST_LOG)) or b""
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
    plan = folder.plan()
    if not plan.method:
        return plan, []
    scores = Scores(folder.results, plan)
    rows = [_row(trial, newest, scores) for trial in folder.trials()]

    def place(row: TrialRow) -> tuple[int, float, int]:
        rank = -np.inf if row.value is None else plan.better(row.value)
        return _ORDER.index(row.state), -rank, row.trial.number

    return plan, sorted(rows, key=place)


def trials_summary(plan: SearchPlan, rows: Sequence[TrialRow]) -> str:
    """One line: how many trials are in which state, and the best one."""
    states = [row.state for row in rows]
    parts = [f"{states.count(state)} {state}" for state in dict.fromkeys(states)]
    line = f"{len(rows)} of {counted(plan.trials, 'trial')}" + (f": {', '.join(parts)}" if parts else "")
    if rows and rows[0].state == DONE and rows[0].value is not None:
        best = rows[0].trial
        line += f". The best: {best.name} with {rows[0].value:.4g} ({settings_text(best.settings)})"
    return line


def settings_text(settings: Mapping[str, Any]) -> str:
    """A trial's settings on one line."""
    return " ".join(f"{key}={quoted(value)}" for key, value in settings.items())


def failure_of(trial: Trial, newest: Mapping[str, Attempt]) -> str | None:
    """The error of the first of a trial's runs that has failed, and is not tried again; None if there is no such."""
    for run in trial.runs:
        attempt = newest.get(run.id)
        if attempt and attempt.state == FAILED and attempt.number > trial.retried.get(run.id, 0):
            return attempt.error
    return None


def _row(trial: Trial, newest: Mapping[str, Attempt], scores: Scores) -> TrialRow:
    states = [newest[run.id].state if run.id in newest else WAITING for run in trial.runs]
    done = states.count(DONE)
    if trial.end is not None:
        return TrialRow(trial, trial.end.state, trial.end.value, done, trial.end.error)
    if (failure := failure_of(trial, newest)) is not None:
        return TrialRow(trial, FAILED, None, done, failure)
    if done == len(states):
        return TrialRow(trial, DONE, scores.value(trial.runs, newest), done, "")
    return TrialRow(trial, WAITING if set(states) == {WAITING} else RUNNING, None, done, "")
