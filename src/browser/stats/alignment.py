"""Curves of several runs at common positions."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from browser.reading.curves import AXES, Curve
from utils.errors import ConfigError
from utils.nearest import suggestion


@dataclass(frozen=True, eq=False)
class Aligned:
    """Values of R runs at N common positions.

    Attributes:
        x: positions, increasing; float64 [N].
        values: float64 [R, N]; NaN before a run's first value and after its last.
        axis: one of AXES, the unit of `x`.
    """

    x: np.ndarray
    values: np.ndarray
    axis: str


def align(curves: Sequence[Curve], axis: str = "steps", points: int = 201) -> Aligned:
    """Interpolate curves linearly at equally spaced positions from the first of any run to the last of any run.

    Values that are NaN or infinite are left out. Runs log at slightly different steps, so a run's first and last value
    are held for up to one of its intervals; beyond that the run has no value and does not count there. A curve
    without positions on this axis is left out.

    Args:
        curves: one per run.
        axis: "steps", "episodes" or "seconds".
        points: N, unless no curve has that many values.

    Raises:
        ConfigError: there is no such axis.
    """
    if axis not in AXES:
        raise ConfigError(f"There is no axis '{axis}'.{suggestion(axis, AXES)}")
    tracks = [track for curve in curves if (track := _track(curve, axis)) is not None]
    if not tracks:
        return Aligned(np.zeros(0), np.zeros((0, 0)), axis)
    first, last = min(x[0] for x, _ in tracks), max(x[-1] for x, _ in tracks)
    n = min(points, max(len(x) for x, _ in tracks)) if last > first else 1
    grid = np.linspace(first, last, n)
    return Aligned(grid, np.stack([_at(grid, x, values) for x, values in tracks]), axis)


def _track(curve: Curve, axis: str) -> tuple[np.ndarray, np.ndarray] | None:
    """Positions, strictly increasing, and finite values, or None."""
    x = curve.over(axis)
    if x is None:
        return None
    x = np.asarray(x, dtype=np.float64)
    usable = np.isfinite(x) & np.isfinite(curve.values)
    x, values = x[usable], curve.values[usable]
    if not len(x):
        return None
    # seconds and episodes may stand still between two values; the later one counts
    moves = np.r_[np.diff(x) > 0, True]
    return x[moves], values[moves]


def _at(grid: np.ndarray, x: np.ndarray, values: np.ndarray) -> np.ndarray:
    interval = np.median(np.diff(x)) if len(x) > 1 else 0.0
    known = (grid >= x[0] - interval) & (grid <= x[-1] + interval)
    return np.where(known, np.interp(grid, x, values), np.nan)


def smooth(values: np.ndarray, window: int) -> np.ndarray:
    """Centred moving mean along the last axis, over up to `window` values (an even one counts as the next odd one).

    At the ends, and beside NaN, the mean is over the values that there are; NaN stays NaN.
    """
    half = window // 2
    if half == 0 or values.shape[-1] == 0:
        return values
    known = np.isfinite(values)
    sums, counts = (_window_sums(array, half) for array in (np.where(known, values, 0.0), known.astype(np.float64)))
    return np.where(known, sums / np.maximum(counts, 1.0), np.nan)


def _window_sums(array: np.ndarray, half: int) -> np.ndarray:
    n = array.shape[-1]
    totals = np.concatenate([np.zeros((*array.shape[:-1], 1)), np.cumsum(array, axis=-1)], axis=-1)
    ends, starts = np.minimum(np.arange(n) + half + 1, n), np.maximum(np.arange(n) - half, 0)
    return totals[..., ends] - totals[..., starts]
