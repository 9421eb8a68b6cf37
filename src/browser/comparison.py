"""A choice of runs compared: the step between what was read and what is drawn, for the report and the page alike."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from browser.reading import Curve, Results, Run, varying_keys
from browser.reading.configs import value_of
from browser.reading.session import MAP_KEYS
from browser.references import Reference
from browser.stats import (
    AGGREGATES,
    Band,
    Estimate,
    Group,
    Profile,
    aggregate,
    best_value,
    curve_band,
    final_value,
    group_runs,
    normalised,
    performance_profile,
    probability_of_improvement,
    reached,
    repeated_seeds,
    value_at,
)
from browser.stats.bands import DEFAULT_BAND
from browser.stats.outcomes import Reached
from browser.usual import metric_counts, usual_metrics
from records.absolute_metric import absolute_key
from records.run_score import LAST, score_title, value_noun
from utils.errors import ConfigError
from utils.nearest import suggestion

# ways to a run's score, and what each is of its values
SCORES = {
    "final": "mean of the last values",
    "best": "best value",
    "absolute": "absolute metric: the best model, tested again",
}
# the parts that a comparison may leave out, and the rest
ONLY = {
    "newest": "the newest of a repeated seed",
    "complete": "where all runs have values",
}
# stands for the map of runs whose config names neither a map nor an environment
NO_MAP = "no map"

ByMap = dict[str, np.ndarray]


class Comparison:
    """Runs grouped into algorithms, and played maps.

    An algorithm is a group by `group_by`, keys that name the map left out; a map is the environment's map, with the
    environment before it when there are several. Curves are read on demand, and kept by `results`.

    Args:
        results: where the runs are.
        runs: each counts once, with the curves of all its sessions. Evaluations (`evaluate=True`) are left
            out beside others.
        group_by: config keys.
        references: published curves (`browser.references`), which are drawn only.
        only: names of ONLY. "newest": of runs of an algorithm with the same map and seed the newest counts. "complete":
            bands end where a run of theirs does.

    Attributes:
        groups: the algorithms, sorted.
        maps: names, sorted.
        repeats: by algorithm and map, the seeds that several runs have, with those runs, the newest first.

    Raises:
        ConfigError: a key that no run's config has, or a seed's.
    """

    def __init__(
        self,
        results: Results,
        runs: Iterable[Run],
        group_by: Sequence[str] = ("name",),
        only: Collection[str] = (),
        references: Sequence[Reference] = (),
    ):
        self.results = results
        chosen = list(runs)
        # who plays a saved model repeats no training; evaluations are compared if nothing else was chosen
        self.runs = [run for run in chosen if run.config.get("evaluate") is not True] or chosen
        self.group_by = [key for key in group_by if key not in (*MAP_KEYS, "env")]
        self.groups: list[Group] = group_runs(self.runs, self.group_by)
        self.only, self.references = frozenset(only), list(references)
        self._several = len({run.environment for run in self.runs}) > 1
        self.maps = sorted({self.map_of(run) for run in self.runs})
        self.repeats: dict[tuple[str, str], dict[Any, list[Run]]] = {
            (group.label, name): seeds
            for group in self.groups
            for name in self.maps
            if (seeds := repeated_seeds(self.runs_of(group, name)))
        }
        if "newest" in self.only:
            old = {run.id for seeds in self.repeats.values() for alike in seeds.values() for run in alike[1:]}
            self.runs = [run for run in self.runs if run.id not in old]
            self.groups = group_runs(self.runs, self.group_by)

    def map_of(self, run: Run) -> str:
        """The scenario of a run, as `maps` names it."""
        environment, name = run.environment, run.map_name
        return f"{environment}/{name}" if self._several and name != environment else name or NO_MAP

    def labels(self) -> list[str]:
        """The algorithms' names, in order."""
        return [group.label for group in self.groups]

    def lines(self) -> list[str]:
        """The labels of all curves, in order: those of the algorithms, and then of the references."""
        return [*self.labels(), *(reference.label for reference in self.references)]

    def runs_of(self, group: Group, map_name: str) -> list[Run]:
        """The runs of an algorithm on a map."""
        return [run for run in group.runs if self.map_of(run) == map_name]

    def metric_keys(self) -> list[str]:
        """The statistics to choose from, sorted; see `metric_counts`."""
        return list(self._counts)

    def usual_metrics(self) -> list[str]:
        """The default statistics of a comparison; empty if no run has logged anything."""
        return usual_metrics(self._counts)

    @cached_property
    def _counts(self) -> dict[str, int]:
        return metric_counts(self.results, self.runs)

    def has(self, metric: str) -> bool:
        """Whether any run has this statistic."""
        return any(self.curve(run, metric) is not None for run in self.runs)

    def curve(self, run: Run, metric: str) -> Curve | None:
        """A run's curve; None if it has none."""
        return self.results.curves(run, [metric]).get(metric)

    def bands(
        self,
        metric: str,
        map_name: str | None = None,
        kind: str = DEFAULT_BAND,
        axis: str = "steps",
        smoothing: int = 1,
    ) -> list[Band]:
        """Learning curves of the algorithms on one map (None: on all together), then references'; see `curve_band`.

        Those without a value are left out.
        """
        bands = []
        for group in self.groups:
            runs = group.runs if map_name is None else self.runs_of(group, map_name)
            curves = [curve for run in runs if (curve := self.curve(run, metric)) is not None]
            band = curve_band(group.label, curves, kind, axis, smoothing)
            if len(band.x):
                bands.append(band.cut() if "complete" in self.only else band)
        if map_name is not None:
            found = (one.band(metric, map_name, kind, axis, smoothing) for one in self.references)
            bands += [band for band in found if band is not None]
        return bands

    def scores(self, metric: str, score: str = "final", last: int = LAST, step: int | None = None) -> dict[str, ByMap]:
        """A score per run, by algorithm and map.

        Args:
            score: "final" (the mean of the last `last` values), "best", or "absolute": of the statistic's absolute
                metric, the last value.
            step: the value at this environment step instead; runs that did not get there have no score.

        Raises:
            ConfigError: there is no such score.
        """
        values: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
        for group, run, value in self.run_scores(metric, score, last, step):
            values[group.label][self.map_of(run)].append(value)
        return {
            label: {name: np.array(numbers) for name, numbers in sorted(maps.items())} for label, maps in values.items()
        }

    def run_scores(
        self, metric: str, score: str = "final", last: int = LAST, step: int | None = None
    ) -> Iterator[tuple[Group, Run, float]]:
        """The score of each run that has one, with its group; see `scores`."""
        if score not in SCORES:
            raise ConfigError(f"There is no score '{score}'.{suggestion(score, SCORES)}")
        logged = absolute_key(metric) if score == "absolute" and step is None else metric
        for group in self.groups:
            for run in group.runs:
                curve = self.curve(run, logged)
                value = np.nan if curve is None else _score(curve, score, last, step)
                if np.isfinite(value):
                    yield group, run, float(value)

    def also_differ(self) -> dict[str, list[str]]:
        """By algorithm, the keys in which its runs differ though they count as repetitions of one another.

        Runs on different maps are no repetitions, so only differences within a map count.
        """
        differing = {}
        for group in self.groups:
            keys = set()
            for name in self.maps:
                runs = [run.newest for run in self.runs_of(group, name)]
                keys |= set(varying_keys(runs))
                if len({str(value_of(run, "name")) for run in runs}) > 1:
                    keys.add("name")
            if keys:
                differing[group.label] = sorted(keys)
        return differing

    def reached(self, metric: str, threshold: float, smoothing: int = 1) -> dict[str, dict[str, list[Reached | None]]]:
        """When each run first reached a threshold (None: never), by algorithm and map."""
        found: dict[str, dict[str, list[Reached | None]]] = {}
        for group in self.groups:
            for run in group.runs:
                curve = self.curve(run, metric)
                if curve is not None:
                    maps = found.setdefault(group.label, {})
                    maps.setdefault(self.map_of(run), []).append(reached(curve, threshold, smoothing))
        return found


def title_of_score(metric: str, score: str = "final", last: int = LAST, step: int | None = None) -> str:
    """What `Comparison.scores` takes of a run, in words, such as "mean of the last 5 tests"."""
    if step is not None:
        return f"value at step {step:,}"
    if score == "absolute":
        return "absolute metric"
    return f"best {value_noun(metric)}" if score == "best" else score_title(metric, last)


def _score(curve: Curve, score: str, last: int, step: int | None) -> float:
    if step is not None:
        return value_at(curve, step)
    return best_value(curve) if score == "best" else final_value(curve, 1 if score == "absolute" else last)


def comparable(scores: dict[str, ByMap]) -> tuple[dict[str, ByMap], bool]:
    """Scores that may be pooled over maps, and whether they are normalised, because any was below 0 or above 1."""
    pooled = [values for maps in scores.values() for values in maps.values()]
    everything = np.concatenate(pooled) if pooled else np.zeros(0)
    outside = bool(((everything < 0) | (everything > 1)).any())
    return (normalised(scores), True) if outside else (scores, False)


def aggregates_of(scores: dict[str, ByMap]) -> dict[str, dict[str, Estimate]]:
    """Every aggregate over all maps, by its name and algorithm; scores must be `comparable`."""
    return {how: {label: aggregate(list(maps.values()), how) for label, maps in scores.items()} for how in AGGREGATES}


def profiles_of(scores: dict[str, ByMap]) -> list[Profile]:
    """A performance profile per algorithm, over the range of all scores; scores must be `comparable`."""
    pooled = [values for maps in scores.values() for values in maps.values()]
    if not pooled:
        return []
    everything = np.concatenate(pooled)
    thresholds = np.linspace(min(0.0, everything.min()), max(1.0, everything.max()), 101)
    return [performance_profile(label, list(maps.values()), thresholds) for label, maps in scores.items()]


def improvements_of(scores: dict[str, ByMap]) -> list[tuple[str, str, Estimate]]:
    """For every pair of algorithms that share a map: X, Y and the probability that X beats Y."""
    labels = list(scores)
    pairs = [(x, y) for i, x in enumerate(labels) for y in labels[i + 1 :]]
    estimates = [(x, y, probability_of_improvement(scores[x], scores[y])) for x, y in pairs]
    return [estimate for estimate in estimates if estimate[2].n]
