"""Hyperparameters against results: the runs of a comparison with their settings and scores."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from browser.comparison import Comparison
from browser.reading import Run, varying_keys
from browser.reading.configs import MISSING, value_of
from browser.reading.session import MAP_KEYS
from browser.stats.importance import Importance, importance
from browser.stats.outcomes import scaled_by_map
from records.run_score import LAST

MAP = "map"
# on a page
MOST_KEYS = 16


@dataclass(frozen=True)
class Sweep:
    """Runs with a score, and the settings in which they differ.

    Attributes:
        runs: R runs, and `labels` their groups.
        settings: by key the values of all runs; the most important key first.
        scores: float64 [R].
        scaled: whether they are scaled, on every map the lowest run to 0 and the highest to 1, since maps differ.
        importances: of the same keys.
        left_out: how many more keys differ.
    """

    runs: list[Run]
    labels: list[str]
    settings: dict[str, list[Any]]
    scores: np.ndarray
    scaled: bool
    importances: list[Importance]
    left_out: int


def sweep_of(
    comparison: Comparison,
    metric: str,
    score: str = "final",
    last: int = LAST,
    step: int | None = None,
    keys: Sequence[str] = (),
) -> Sweep:
    """The runs of a comparison that have a score of this statistic.

    Args:
        score, last, step: as of `Comparison.scores`.
        keys: of the config; by default all in which these runs differ, but for seeds, and the map where there are
            several.
    """
    found = [(group.label, run, value) for group, run, value in comparison.run_scores(metric, score, last, step)]
    runs = [run for _, run, _ in found]
    maps = [comparison.map_of(run) for run in runs]
    scores, scaled = scaled_by_map(np.array([value for *_, value in found], dtype=np.float64), maps)
    values: dict[str, list[Any]] = {}
    for key in keys or varying_keys(run.newest for run in runs):
        if keys or key not in (*MAP_KEYS, "env"):
            values[key] = [_shown(value_of(run, key)) for run in runs]
    if scaled and not keys:
        values[MAP] = maps
    if not keys:
        values = _once(values)
    ranked = sorted((importance(key, column, scores) for key, column in values.items()), key=_rank)
    kept = ranked[:MOST_KEYS]
    settings = {one.key: values[one.key] for one in kept}
    labels = [label for label, *_ in found]
    return Sweep(runs, labels, settings, scores, scaled, kept, len(ranked) - len(kept))


def _once(values: dict[str, list[Any]]) -> dict[str, list[Any]]:
    """Keys that have the same values in every run stand as one: "hidden_dim = width", "hidden_dim and 2 more"."""
    alike: dict[str, list[str]] = {}
    for key, column in values.items():
        alike.setdefault(repr(column), []).append(key)
    names = {
        keys[0]: " = ".join(keys) if len(keys) < 3 else f"{keys[0]} and {len(keys) - 1} more" for keys in alike.values()
    }
    return {name: values[key] for key, name in names.items()}


def _rank(one: Importance) -> tuple[bool, float, str]:
    return (not np.isfinite(one.share), -one.share if np.isfinite(one.share) else 0.0, one.key)


def _shown(value: Any) -> Any:
    """A setting as an axis takes it: a number, or a text."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return value
    return "none" if value is MISSING else str(value)
