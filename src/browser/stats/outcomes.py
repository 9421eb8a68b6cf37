"""What one run came to: final and best value, and when it got somewhere."""

from dataclasses import dataclass

import numpy as np

from browser.records.curves import Curve


@dataclass(frozen=True)
class Reached:
    """When a run first reached a threshold: training environment steps and seconds (None if not recorded)."""

    steps: int
    seconds: float | None


def final_value(curve: Curve, last: int = 1) -> float:
    """The mean of the last values (`last` of them, as far as there are) that are finite; NaN if there is none."""
    values = curve.finite().values[-last:]
    return float(values.mean()) if len(values) else np.nan


def best_value(curve: Curve) -> float:
    """The greatest finite value; NaN if there is none."""
    values = curve.finite().values
    return float(values.max()) if len(values) else np.nan


def reached(curve: Curve, threshold: float, smoothing: int = 1) -> Reached | None:
    """The first logged step at which the value is at least `threshold`; None if it never is.

    Args:
        smoothing: how many values up to and with that step have to reach it on average, against a lucky test.
    """
    curve = curve.finite()
    totals = np.cumsum(np.r_[0.0, curve.values])
    above = np.flatnonzero((totals[smoothing:] - totals[:-smoothing]) / smoothing >= threshold)
    if not len(above):
        return None
    first = above[0] + smoothing - 1
    return Reached(int(curve.steps[first]), None if curve.seconds is None else float(curve.seconds[first]))
