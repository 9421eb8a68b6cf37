"""Cautions about a comparison, each a sentence with its remedies; for the page and the report."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from browser.comparison import Comparison
from browser.figures.wording import is_share, metric_title
from browser.stats import FEWEST, Band, Estimate, cells_of
from browser.stats.grouping import ALL_RUNS
from records.run_score import LAST, value_noun

# examples in a sentence, and keys that are offered to split by
MOST_EXAMPLES = 4
# keys that are offered to split by all at once
MOST_KEYS = 12


@dataclass(frozen=True)
class Remedy:
    """A way out.

    Attributes:
        label: its effect, as the text of a button.
        changes: to the request, by the names in addresses of the page.
        option: the same for report.py, or empty.
    """

    label: str
    changes: Mapping[str, Any] = field(hash=False)
    option: str = ""


@dataclass(frozen=True)
class Caution:
    """A way in which a comparison could mislead, as a sentence with remedies."""

    text: str
    remedies: tuple[Remedy, ...] = ()


def of_groups(comparison: Comparison) -> list[Caution]:
    """Runs that count as independent repetitions of one another, and are not."""
    return [*_pooled(comparison), *_repeated(comparison)]


def _pooled(comparison: Comparison) -> Iterable[Caution]:
    by_keys: dict[tuple[str, ...], list[str]] = {}
    for label, keys in comparison.also_differ().items():
        by_keys.setdefault(tuple(keys), []).append(label)
    asked = comparison.group_by
    for differing, labels in by_keys.items():
        keys = list(differing)
        splits = [(key, [*asked, key]) for key in keys[:MOST_EXAMPLES]]
        if 1 < len(keys) <= MOST_KEYS:
            splits.append((f"all {len(keys)} keys", [*asked, *keys]))
        yield Caution(
            f"Runs{_of(_listed(labels))} on the same map also differ in {_listed(keys)}, yet count as repetitions.",
            tuple(Remedy(f"Split by {what}", {"group": tuple(g)}, f"--group-by {','.join(g)}") for what, g in splits),
        )


def _repeated(comparison: Comparison) -> Iterable[Caution]:
    if not comparison.repeats:
        return
    places = [
        f"{label} on {name} (seed {', '.join(map(str, seeds))})" for (label, name), seeds in comparison.repeats.items()
    ]
    if "newest" in comparison.only:
        older = sum(len(alike) - 1 for seeds in comparison.repeats.values() for alike in seeds.values())
        kept = f"Seeds repeat: {_listed(places)}. Only the newest run of each seed counts; {_runs(older)} left out."
        rest = tuple(sorted(comparison.only - {"newest"}))
        yield Caution(kept, (Remedy("Count all", {"only": rest}),))
        return
    yield Caution(
        f"Seeds repeat: {_listed(places)}. Such runs are not independent, yet all of them count.",
        (Remedy("Keep the newest of each", *_with(comparison, "newest")),),
    )


def of_metric(comparison: Comparison, metric: str, axis: str = "steps") -> list[Caution]:
    """Maps and runs that are not seen because they lack the statistic, or its positions on the axis."""
    if not metric:
        return []
    maps, runs = [], []
    for name in comparison.maps:
        by_group = [(group, found) for group in comparison.groups if (found := comparison.runs_of(group, name))]
        lacking = {
            group.label: (sum(not _has(comparison, run, metric, axis) for run in found), len(found))
            for group, found in by_group
        }
        if all(missing == n for missing, n in lacking.values()):
            maps.append(name)
            continue
        runs += [f"{missing} of {n}{_of(label)} on {name}" for label, (missing, n) in lacking.items() if missing]
    title = metric_title(metric) + ("" if axis == "steps" else f" over {axis}")
    cautions = []
    if maps and len(maps) < len(comparison.maps):
        other = _on_most_maps(comparison, metric)
        cautions.append(
            Caution(
                f"No run on {_listed(maps)} has {title}, so {'it is' if len(maps) == 1 else 'they are'} not shown.",
                (Remedy(f"Show {metric_title(other)}", {"metric": other}, f"--metric {other}"),) if other else (),
            )
        )
    if runs:
        cautions.append(Caution(f"Runs without {title} do not count: {_listed(runs)}."))
    return cautions


def _has(comparison: Comparison, run: Any, metric: str, axis: str) -> bool:
    curve = comparison.curve(run, metric)
    return curve is not None and curve.over(axis) is not None and bool(np.isfinite(curve.values).any())


def _on_most_maps(comparison: Comparison, metric: str) -> str | None:
    """The usual statistic that more maps have than this one."""

    def maps_with(key: str) -> int:
        return len({comparison.map_of(run) for run in comparison.runs if comparison.curve(run, key) is not None})

    best = max(comparison.usual_metrics(), key=maps_with, default=None)
    return best if best is not None and maps_with(best) > maps_with(metric) else None


def of_curves(comparison: Comparison, bands: Sequence[Band], metric: str) -> list[Caution]:
    """Of the bands of one figure: where runs drop out, and intervals that no value can reach."""
    cautions = []
    falls = [text for band in bands if (text := _fall(band))]
    if falls:
        text = f"Runs differ in length: {_listed(falls)}; the line is thin and dotted there."
        cautions.append(Caution(text, (Remedy("Cut there", *_with(comparison, "complete")),)))
    beyond = [
        band.label
        for band in bands
        if band.kind == "mean"
        and is_share(metric)
        and (np.nanmin(band.low, initial=0) < 0 or np.nanmax(band.high, initial=1) > 1)
    ]
    if beyond:
        text = f"Student's interval of {_listed(beyond)} exceeds 0 to 1, the range of a {metric_title(metric)}."
        cautions.append(Caution(text, (Remedy("Interquartile mean", {"band": "iqm"}, "--band iqm"),)))
    return cautions


def _fall(band: Band) -> str:
    """Where runs of a band are missing, in words; empty if nowhere."""
    partial = ~band.complete()
    if not partial.any():
        return ""
    most, have = int(band.n.max()), "have" if band.label == ALL_RUNS else "has"
    last = np.flatnonzero(~partial)[-1]
    if partial[last:].any():
        return f"{band.label} {have} n = {most} until {band.x[last]:,.0f}, then {int(band.n[last + 1 :].min())}"
    first = np.flatnonzero(~partial)[0]
    return f"{band.label} {have} n = {most} only from {band.x[first]:,.0f}"


def of_scores(
    comparison: Comparison, metric: str, score: str = "final", step: int | None = None, last: int = LAST
) -> list[Caution]:
    """Of `Comparison.scores`: runs of unequal length, that did not reach the step, or with too few values."""
    short, ends, few = [], [], []
    for name in comparison.maps:
        lasts = []
        for group in comparison.groups:
            curves = [comparison.curve(run, metric) for run in comparison.runs_of(group, name)]
            steps = [curve.finite().steps for curve in curves if curve is not None]
            steps = [at for at in steps if len(at)]
            lasts += [(int(at[-1]), _interval(at)) for at in steps]
            missed = 0 if step is None else sum(step > at[-1] + _interval(at) for at in steps)
            if missed:
                short.append(f"{missed} of {len(steps)}{_of(group.label)} on {name}")
            least = min(map(len, steps), default=last)
            if step is None and score == "final" and least < last:
                few.append(f"{group.label} on {name} ({least})")
        if step is None and lasts:
            earliest, interval = min(lasts)
            latest, _ = max(lasts)
            if earliest + interval < latest:
                ends.append((name, earliest, latest))
    cautions = []
    if short:
        cautions.append(Caution(f"Runs that did not reach step {step:,} do not count: {_listed(short)}."))
    if ends:
        places = [f"{name} ({earliest:,} to {latest:,} steps)" for name, earliest, latest in ends]
        common = min(earliest for _, earliest, _ in ends)
        remedies = (Remedy(f"Compare at step {common:,}", {"step": common}),) if common else ()
        values = "best values" if score == "best" else "last values"
        text = f"Runs on {_listed(places)} differ in length, yet their {values} are compared."
        cautions.append(Caution(text, remedies))
    if few:
        noun = value_noun(metric)
        text = f"Some runs have fewer than {last} {noun}s, so all of their {noun}s count: {_listed(few)}."
        cautions.append(Caution(text, (Remedy(f"Compare the last {noun}", {"last": 1}, "--last 1"),)))
    return cautions


def of_few_runs(matrix: Mapping[str, Mapping[str, Estimate]]) -> list[Caution]:
    """Of a matrix: cells of so few runs that they have no interval."""
    few = [
        f"{label} on {name} (n = {cell.n})" for label, row in matrix.items() for name, cell in row.items() if cell.few
    ]
    if not few:
        return []
    who = (
        "Every cell has"
        if len(few) == len(cells_of(matrix))
        else f"{_listed(few)} {'has' if len(few) == 1 else 'have'}"
    )
    instead = "the lowest and the highest run are shown instead"
    return [Caution(f"{who} fewer than {FEWEST} runs, too few for a 95 % interval: {instead}.")]


def _of(label: str) -> str:
    """Whose runs they are, for a sentence; empty where groups are not told apart."""
    return "" if label == ALL_RUNS else f" of {label}"


def _interval(steps: np.ndarray) -> float:
    """Steps between two values of a run, for which its last one still holds; see `value_at`."""
    return float(np.median(np.diff(steps))) if len(steps) > 1 else 0.0


def _with(comparison: Comparison, name: str) -> tuple[dict[str, Any], str]:
    only = tuple(sorted(comparison.only | {name}))
    return {"only": only}, f"--only {','.join(only)}"


def _runs(n: int) -> str:
    return f"{n} older run is" if n == 1 else f"{n} older runs are"


def _listed(names: Collection[str]) -> str:
    names = list(names)
    more = len(names) - MOST_EXAMPLES
    first = ", ".join(names[:MOST_EXAMPLES])
    return f"{first} and {more} more" if more > 0 else first
