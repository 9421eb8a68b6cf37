"""The outcomes of runs: final and best value, and the time to reach a value."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from browser.reading.curves import Curve
from records.run_score import score_of


@dataclass(frozen=True)
class Reached:
    """When a run first reached a threshold: training environment steps and seconds (None if not recorded)."""

    steps: int
    seconds: float | None


def final_value(curve: Curve, last: int = 1) -> float:
    """The mean of the last `last` finite values; see `score_of`."""
    return score_of(curve.values, last)


def best_value(curve: Curve) -> float:
    """The greatest finite value, or NaN."""
    values = curve.finite().values
    return float(values.max()) if len(values) else np.nan


def lowest_value(curve: Curve) -> float:
    """The least finite value, or NaN."""
    values = curve.finite().values
    return float(values.min()) if len(values) else np.nan


def value_at(curve: Curve, step: int) -> float:
    """The value at an environment step, between logged ones by linear interpolation.

    Runs log at slightly different steps, so the last value holds for one of the run's intervals, and the first for
    one before it; NaN further out, and for a curve without finite values.
    """
    curve = curve.finite()
    if not len(curve.steps):
        return np.nan
    interval = np.median(np.diff(curve.steps)) if len(curve.steps) > 1 else 0
    known = curve.steps[0] - interval <= step <= curve.steps[-1] + interval
    return float(np.interp(step, curve.steps, curve.values)) if known else np.nan


def reached(curve: Curve, threshold: float, smoothing: int = 1) -> Reached | None:
    """The first logged step at which the value is at least `threshold`; None if it never is.

    Args:
        smoothing: the number of values up to that step whose mean must reach it, against a lucky test.
    """
    curve = curve.finite()
    totals = np.cumsum(np.r_[0.0, curve.values])
    above = np.flatnonzero((totals[smoothing:] - totals[:-smoothing]) / smoothing >= threshold)
    if not len(above):
        return None
    first = above[0] + smoothing - 1
    return Reached(int(curve.steps[first]), None if curve.seconds is None else float(curve.seconds[first]))


# what a run's curve comes to, by the words of columns and filters
ROLL_UPS: Mapping[str, Callable[[Curve], float]] = {
    "last": final_value,
    "best": best_value,
    "lowest": lowest_value,
    "mean10": lambda curve: final_value(curve, 10),
}


def scaled_by_map(scores: np.ndarray, maps: Sequence[str]) -> tuple[np.ndarray, bool]:
    """Scores of runs on several maps as shares of their map's range, 0 of the lowest run and 1 of the highest.

    Args:
        scores: float64 [R].
        maps: of the same runs.

    Returns:
        scores [R] (0.5 on a map where all are equal), and whether they are scaled; those of one map are as they were.
    """
    names = set(maps)
    if len(names) < 2:
        return scores, False
    scaled = np.full(len(scores), 0.5)
    for name in names:
        here = np.array([one == name for one in maps])
        low, high = scores[here].min(), scores[here].max()
        if high > low:
            scaled[here] = (scores[here] - low) / (high - low)
    return scaled, True
