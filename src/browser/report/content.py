"""The content of a report: runs, their curves and comparisons, before drawing and writing."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from browser.comparison import (
    Comparison,
    aggregates_of,
    comparable,
    improvements_of,
    profiles_of,
    title_of_score,
)
from browser.figures.wording import lower_is_better, metric_title, value_title
from browser.reading import Results, Run, Session, varying_keys
from browser.reading.configs import MISSING, key_suggestion
from browser.references import references_of
from browser.report.arguments import Options
from browser.stats import Band, Estimate, Group, Profile, best_value, final_value, score_matrix, to_marl_eval
from records.absolute_metric import absolute_key
from utils.errors import ConfigError
from utils.nearest import suggestion

# characters of a result that a table shows
MOST_RESULT = 200


@dataclass(frozen=True)
class Metric:
    """One statistic compared.

    Attributes:
        key: the statistic.
        title: it in words, as on an axis.
        algorithms: all labels.
        lines: those of curves, in the order of their colours: the algorithms', and references'.
        curves: bands of the algorithms by map.
        matrix: estimates by algorithm and map, in the statistic's own unit.
        normalised: whether the rest is over scores that were scaled to 0–1 on every map.
        aggregates, profiles, improvements: over all maps.
    """

    key: str
    title: str
    algorithms: list[str]
    lines: list[str]
    curves: dict[str, list[Band]]
    matrix: dict[str, dict[str, Estimate]]
    normalised: bool
    aggregates: dict[str, dict[str, Estimate]]
    profiles: list[Profile]
    improvements: list[tuple[str, str, Estimate]]


def choose(options: Options) -> tuple[Results, Comparison]:
    """Open the results folder and choose and group its runs.

    Raises:
        ConfigError: no such folder, no run, or no run that meets every condition; an unknown key or metric.
    """
    results = Results(options.results, cache="default" if options.cache else None)
    runs = results.runs()
    if not runs:
        raise ConfigError(f"There are no runs in '{options.results}': it contains neither Sacred's folders nor runs/.")
    if options.tokens is not None:
        runs = [run for run in runs if run.token in options.tokens]
        if not runs:
            raise ConfigError(f"None of the {len(options.tokens)} runs is in '{options.results}'.")
    for key, value in options.where.items():
        runs = _meeting(runs, key, value)
    comparison = Comparison(results, runs, options.group_by, options.only, references_of(options.references))
    for key in options.metrics:
        if not comparison.has(key):
            raise ConfigError(f"No run has the metric '{key}'.{suggestion(key, comparison.metric_keys(), limit=20)}")
    if options.best_of:
        comparison = _best(comparison, options)
    return results, comparison


def _best(comparison: Comparison, options: Options) -> Comparison:
    """The same with the best group of each value of `best_of` on each map; groups without a score are left out.

    The first metric decides, by the mean of its scores.
    """
    metric = next(iter(options.metrics or comparison.usual_metrics()), "")
    scores = comparison.scores(metric, options.score, options.last)
    best: dict[tuple[str, str], tuple[float, Group]] = {}
    for group in comparison.groups:
        for name, values in scores.get(group.label, {}).items():
            score = float(values.mean()) * (-1 if lower_is_better(metric) else 1)
            place = (repr(group.values.get(options.best_of)), name)
            if place not in best or score > best[place][0]:
                best[place] = score, group
    kept = [run for (_, name), (_, group) in best.items() for run in comparison.runs_of(group, name)]
    return Comparison(comparison.results, kept, options.group_by, options.only, comparison.references)


def compare(comparison: Comparison, key: str, options: Options) -> Metric:
    """The part of a report on one statistic."""
    curves = {
        name: bands
        for name in comparison.maps
        if (bands := comparison.bands(key, name, options.band, options.axis, options.smoothing))
    }
    scores = comparison.scores(key, options.score, options.last)
    pooled, scaled = comparable(scores)
    return Metric(
        key,
        value_title(key),
        comparison.labels(),
        comparison.lines(),
        curves,
        score_matrix(scores),
        scaled,
        aggregates_of(pooled),
        profiles_of(pooled),
        improvements_of(pooled),
    )


def run_rows(comparison: Comparison, keys: list[str], options: Options) -> tuple[list[str], list[list[str]]]:
    """The table of runs: headings, and a row per run, the newest first."""
    headings = "run,status,algorithm,map,seed,started (UTC),hours,steps".split(",")
    absolute = [key for key in keys if absolute_key(key) and comparison.has(absolute_key(key))]
    for key in keys:
        scores = [title_of_score(key, last=options.last), title_of_score(key, "best")]
        scores += [title_of_score(key, "absolute")] if key in absolute else []
        headings += [f"{metric_title(key)}, {score}" for score in scores]
    headings += ["result", "commit", "notes"]
    rows = []
    for group in comparison.groups:
        rows += [(run, _run_row(comparison, run, group.label, keys, absolute, options)) for run in group.runs]
    rows.sort(key=lambda row: row[0].age_key(), reverse=True)
    return headings, [row for _, row in rows]


def _run_row(
    comparison: Comparison, run: Run, label: str, keys: list[str], absolute: list[str], options: Options
) -> list[str]:
    newest, seconds = run.newest, run.seconds()
    steps, _ = comparison.results.latest(run, [])
    values = []
    for key in keys:
        curve = comparison.curve(run, key)
        found = [np.nan, np.nan] if curve is None else [final_value(curve, options.last), best_value(curve)]
        if key in absolute:
            again = comparison.curve(run, absolute_key(key))
            found.append(np.nan if again is None else final_value(again))
        values += ["" if np.isnan(value) else f"{value:.4g}" for value in found]
    notes = list(newest.problems)
    if len(run.sessions) > 1:
        notes.insert(0, f"{len(run.sessions)} sessions: {', '.join(session.id for session in run.sessions)}.")
    commit = newest.source.commit[:8] + ("+" if newest.source.dirty else "")
    return [
        newest.id,
        newest.status_at(),
        label,
        comparison.map_of(run),
        str(newest.seed if newest.seed is not None else ""),
        newest.started.strftime("%Y-%m-%d %H:%M") if newest.started else "",
        f"{seconds / 3600:.2f}" if seconds is not None else "",
        f"{steps:,}" if steps is not None else "",
        *values,
        _result_text(newest.result),
        commit,
        " ".join(notes),
    ]


def _result_text(result: Any) -> str:
    """A run's return value, cut to a cell."""
    text = "" if result is None else f"{result:.4g}" if isinstance(result, float) else str(result)
    return text if len(text) <= MOST_RESULT else f"{text[:MOST_RESULT]} …"


def threshold_rows(
    comparison: Comparison, key: str, threshold: float, smoothing: int
) -> tuple[list[str], list[list[str]]]:
    """When runs first reached the threshold: headings, and a row per algorithm and map."""
    headings = ["algorithm", "map", "reached", "median steps (t_env)", "median hours"]
    rows = []
    for label, maps in comparison.reached(key, threshold, smoothing).items():
        for name, found in sorted(maps.items()):
            steps = [at.steps if at else np.inf for at in found]
            known = all(at is None or at.seconds is not None for at in found)
            seconds = [at.seconds if at and at.seconds is not None else np.inf for at in found] if known else [np.nan]
            there = f"{sum(at is not None for at in found)} of {len(found)}"
            rows.append(
                [label, name, there, _or_never(np.median(steps), ",.0f"), _or_never(np.median(seconds) / 3600, ".2f")]
            )
    return headings, rows


def difference_rows(comparison: Comparison) -> tuple[list[str], list[list[str]]]:
    """Config keys in which the runs differ: headings, and the values of every algorithm."""
    runs = [run.newest for run in comparison.runs]
    headings = ["key", *(group.label for group in comparison.groups)]
    rows = []
    for key in varying_keys(runs, ignore=()):
        values = []
        for group in comparison.groups:
            distinct = sorted({str(run.config.get(key, MISSING)) for run in group.runs})
            first = distinct[:8]
            values.append(", ".join(first) + (f", … ({len(distinct)} values)" if len(distinct) > len(first) else ""))
        rows.append([key, *values])
    return headings, rows


def troubled(comparison: Comparison) -> list[Session]:
    """Runs that failed, were interrupted, or are probably dead."""
    runs = [run.newest for run in comparison.runs]
    return [run for run in runs if run.status_at() not in ("COMPLETED", "RUNNING", "QUEUED", "UNKNOWN")]


def exported(comparison: Comparison, keys: list[str]) -> dict:
    """The runs in marl-eval's layout; its algorithms are the report's."""
    labelled = [(group.label, run) for group in comparison.groups for run in group.runs]
    needed = [*keys, *filter(None, map(absolute_key, keys))]
    return to_marl_eval(((label, run.newest, comparison.results.curves(run, needed)) for label, run in labelled), keys)


def _meeting(runs: list[Run], key: str, value: str) -> list[Run]:
    known = {name for run in runs for name in run.config}
    if key not in known:
        raise ConfigError(f"--where: no run's config has the key '{key}'.{key_suggestion(key, known)}")
    chosen = [run for run in runs if str(run.config.get(key, MISSING)) == value]
    if not chosen:
        values = {str(run.config[key]) for run in runs if key in run.config}
        raise ConfigError(f"--where: no run has {key}={value}.{suggestion(value, values, limit=20)}")
    return chosen


def _or_never(value: float, form: str) -> str:
    return "" if np.isnan(value) else "never (most runs)" if np.isinf(value) else format(value, form)
