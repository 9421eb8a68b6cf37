"""The outcomes of one run: final and best value, and the time to reach a value."""

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
