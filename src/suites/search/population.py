"""Population-based training (Jaderberg et al. 2017, "Population Based Training of Neural Networks", arXiv:1711.09846).

The runs of a member are divided into generations. The k-th trial is a member's part in one of them: it continues from
the checkpoints of its own part before, or, if that was among the worst, from those of one of the best, with perturbed
settings. A generation begins when all trials of the one before have ended, so the trials depend on neither the number
of launchers nor their speed.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from suites.plan.search import Path as KeyPath
from suites.plan.search import Search
from suites.search.guide import Suggestion
from suites.state.runs import DONE
from suites.state.trials import Trial


class Population:
    """Decides what each trial continues from, and with which settings; `better`: the rank of a value."""

    def __init__(self, search: Search, better: Callable[[float], float]):
        self._search, self._better = search, better
        self._members = search.options["members"]
        self._trials: dict[int, Trial] = {}

    def forget(self) -> None:
        """Begin again without trials."""
        self._trials.clear()

    def learn(self, trials: Sequence[Trial]) -> None:
        """Take in the trials as they are now."""
        self._trials = {trial.number: trial for trial in trials}

    def ask(self, number: int) -> Suggestion | None:
        """The settings of a trial, and what it continues from; None: trials that it depends on have not ended."""
        first = (number - 1) // self._members * self._members
        if first == 0:
            return Suggestion(self._search.drawn(number))
        before = [self._trials.get(k) for k in range(first - self._members + 1, first + 1)]
        ended = [trial for trial in before if trial is not None and trial.end is not None]
        if len(ended) < self._members or (ranked := self._ranked(ended))[0].end.state != DONE:  # type: ignore[union-attr]
            return None
        own = ended[(number - 1) % self._members]
        count = max(round(self._search.options["truncation"] * self._members), 1)
        if own not in ranked[-count:] and own.end is not None and own.end.state == DONE:
            return Suggestion(self._settings(own), parent=own.number)
        rng = self._search.random_numbers(number)
        best = [trial for trial in ranked[:count] if trial.end is not None and trial.end.state == DONE]
        parent = best[int(rng.integers(len(best)))]
        return Suggestion(self._explored(self._settings(parent), rng), parent=parent.number)

    def is_stuck(self, trials: Sequence[Trial]) -> bool:
        """Whether all members of the newest generation have failed, so that there is nobody to continue from."""
        newest = trials[-self._members :]
        whole = len(trials) % self._members == 0 and len(newest) == self._members
        return whole and all(one.end is not None and one.end.state != DONE for one in newest)

    def report(self, trial: Trial) -> bool:
        """No trial is ended early."""
        return False

    def write_journal(self, path: Path) -> None:
        """There is none: the files of the trials have everything."""

    def _ranked(self, trials: list[Trial]) -> list[Trial]:
        """The best first; those that failed last; of equals the first member."""

        def place(trial: Trial) -> tuple[bool, float, int]:
            value = trial.end.value if trial.end is not None and trial.end.state == DONE else None
            return value is None, 0.0 if value is None else -self._better(value), trial.number

        return sorted(trials, key=place)

    def _settings(self, trial: Trial) -> dict[KeyPath, Any]:
        return {path: trial.settings[".".join(path)] for path in self._search.space}

    def _explored(self, settings: Mapping[KeyPath, Any], rng: Any) -> dict[KeyPath, Any]:
        """Each setting drawn from its range, or perturbed."""
        made: dict[KeyPath, Any] = {}
        for path, one in self._search.space.items():
            draws = rng.random() < self._search.options["resample"]
            made[path] = one.drawn(rng) if draws else one.perturbed(settings[path], rng)
        return made
