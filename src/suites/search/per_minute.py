"""A search that heeds what trials cost: the greatest expected improvement per minute of training.

Snoek, Larochelle and Adams 2012, "Practical Bayesian Optimization of Machine Learning Algorithms" (arXiv:1206.2944),
section 3.2: two Gaussian processes predict a trial's value and the logarithm of its minutes, from those of trials that
have ended; the next one has the greatest ratio of expected improvement to predicted minutes among settings that are
drawn at random. It depends on measured times, so on another machine trials may be others.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from suites.plan.search import Path as KeyPath
from suites.plan.search import Search
from suites.search.gaussian_process import GaussianProcess, expected_improvement
from suites.search.guide import Suggestion
from suites.state.runs import DONE
from suites.state.trials import Trial

# settings that are drawn to choose from
CANDIDATES = 2000


class PerMinute:
    """Decides by values and minutes of the trials that have ended; `better`: the rank of a value."""

    def __init__(self, search: Search, better: Callable[[float], float]):
        self._search, self._better = search, better
        self._trials: list[Trial] = []

    def forget(self) -> None:
        """Begin again without trials."""
        self._trials = []

    def learn(self, trials: Sequence[Trial]) -> None:
        """Take in the trials as they are now."""
        self._trials = list(trials)

    def ask(self, number: int) -> Suggestion:
        """Draws the first trials, and while none is done; then those that are under way count as poor ones."""
        done = [trial for trial in self._trials if trial.end is not None and trial.end.state == DONE]
        if len(done) < 2 or number <= self._search.options["startup"]:
            return Suggestion(self._search.drawn(number))
        values = {trial.number: self._better(trial.end.value) for trial in done}  # type: ignore[union-attr, arg-type]
        poor, best = min(values.values()), max(values.values())
        of_values = GaussianProcess(
            self._places([trial.settings for trial in self._trials]),
            np.array([values.get(trial.number, poor) for trial in self._trials]),
        )
        timed = [trial for trial in done if trial.end is not None and trial.end.minutes > 0]
        rng = self._search.random_numbers(number)
        drawn = [{path: one.drawn(rng) for path, one in self._search.space.items()} for _ in range(CANDIDATES)]
        places = self._places([{".".join(path): value for path, value in one.items()} for one in drawn])
        score = expected_improvement(*of_values.predict(places), best)
        if timed:
            minutes = np.array([math.log(trial.end.minutes) for trial in timed])  # type: ignore[union-attr]
            predicted, _ = GaussianProcess(self._places([trial.settings for trial in timed]), minutes).predict(places)
            score = score / np.exp(predicted)
        return Suggestion(drawn[int(score.argmax())])

    def is_stuck(self, trials: Sequence[Trial]) -> bool:
        """Whether the minutes are spent."""
        budget = self._search.options["minutes"]
        return bool(budget) and sum(trial.end.minutes for trial in trials if trial.end is not None) >= budget

    def report(self, trial: Trial) -> bool:
        """No trial is ended early."""
        return False

    def write_journal(self, path: Path) -> None:
        """There is none: the files of the trials have everything."""

    def _places(self, settings: Sequence[Mapping[str, Any]]) -> np.ndarray:
        """Settings by dotted key as points, `[N, D]`: numbers from 0 to 1 in their range, choices one-hot."""
        rows = [[number for path in self._search.space for number in self._place(path, one)] for one in settings]
        return np.array(rows, dtype=np.float64)

    def _place(self, path: KeyPath, settings: Mapping[str, Any]) -> list[float]:
        one, value = self._search.space[path], settings[".".join(path)]
        if one.kind == "choice":
            return [float(type(value) is type(choice) and value == choice) for choice in one.bounds]
        scale = math.log if one.kind == "log_uniform" else float
        least, most = map(scale, one.bounds)
        return [(scale(value) - least) / (most - least)]
