"""What the runs of one setting come to over their seeds, by the measures of published tables."""

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from browser.reading.curve_files import CurveFile, RunCurve
from browser.stats.means import mean_and_half
from records.run_score import LAST

MEASURES = {
    "maximum": "the test with the highest mean over seeds",
    "final": f"the mean of a run's last {LAST} tests",
    "average": "the mean of all tests of a run",
    "absolute": "the absolute metric: more tests of a run's best model, with other seeds",
}


@dataclass(frozen=True)
class Value:
    """A mean over seeds.

    Attributes:
        half: half the width of its 95 % interval (Student's t); NaN for a single seed.
        at: the environment step of the test, if it is of one test; otherwise 0.
    """

    mean: float
    half: float = math.nan
    at: int = 0

    def text(self) -> str:
        """ "49.42 ± 1.22"; empty for NaN."""
        if math.isnan(self.mean):
            return ""
        return f"{_rounded(self.mean)} ± {_rounded(self.half)}" if math.isfinite(self.half) else _rounded(self.mean)

    def scaled(self, times: float, plus: float) -> "Value":
        """On another scale."""
        return Value(self.mean * times + plus, self.half * abs(times), self.at)


@dataclass(frozen=True)
class Setting:
    """Runs that differ in their seed only; `metric`: the statistic of their curves."""

    metric: str
    runs: tuple[RunCurve, ...]

    @property
    def first(self) -> RunCurve:
        """What all of them have in common."""
        return self.runs[0]

    @property
    def seconds(self) -> float:
        """Of training, the mean over runs."""
        return float(np.mean([run.seconds for run in self.runs]))

    def value(self, measure: str) -> Value:
        """By one of MEASURES. The k-th tests of all runs count as one: runs test at slightly different steps.

        The absolute metric is NaN unless all runs have one.
        """
        if measure == "absolute":
            values = [run.absolute[0] if run.absolute else math.nan for run in self.runs]
            (mean,), (half,) = mean_and_half(np.array(values)[:, None])
            return Value(math.nan if np.isnan(values).any() else float(mean), float(half))
        tests = min(len(run.values) for run in self.runs)
        table = np.array([run.values[:tests] for run in self.runs], dtype=np.float64)
        if measure == "maximum":
            means, halves = mean_and_half(table)
            best = int(np.argmax(means))
            at = round(float(np.mean([run.steps[best] for run in self.runs])))
            return Value(float(means[best]), float(halves[best]), at)
        last = table[:, -LAST:] if measure == "final" else table
        means, halves = mean_and_half(last.mean(axis=1, keepdims=True))
        return Value(float(means[0]), float(halves[0]))


def settings_of(files: Iterable[CurveFile]) -> list[Setting]:
    """The runs of all files, those together that differ in their seed only; runs without a test are left out."""
    groups: dict[tuple, dict[int, RunCurve]] = {}
    for file in files:
        for run in file.runs:
            if run.values:
                key = file.metric, run.algorithm, run.environment, run.map, run.t_max, *run.words
                groups.setdefault(key, {})[run.seed] = run
    return [Setting(key[0], tuple(runs[seed] for seed in sorted(runs))) for key, runs in groups.items()]


def _rounded(number: float) -> str:
    return f"{number:.2f}"
