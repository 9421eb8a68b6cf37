"""Curves of several runs at common positions, and as one: a centre and how far the runs spread around it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from browser.reading.curves import AXES, Curve
from browser.stats.aggregates import FEWEST, REPETITIONS, interval_of, iqm, spread_title
from browser.stats.means import mean_and_half
from utils.errors import ConfigError
from utils.nearest import suggestion

BANDS = {
    "iqm": "interquartile mean with 95 % bootstrap interval",
    "mean": "mean with 95 % confidence interval (Student's t)",
    "median": "median with minimum and maximum",
}
# Student's interval of two runs is 13 standard errors wide on either side, and would fill a figure
DEFAULT_BAND = "iqm"


@dataclass(frozen=True, eq=False)
class Band:
    """A curve over a group of runs.

    Attributes:
        label: the group's.
        x: positions; float64 [N].
        center, low, high: float64 [N]. Of a single run `low` and `high` are NaN, but for the median.
        n: how many runs have a value there; int64 [N].
        axis: what `x` counts, one of AXES.
        kind: one of BANDS.
        runs: the number of runs with the statistic.
    """

    label: str
    x: np.ndarray
    center: np.ndarray
    low: np.ndarray
    high: np.ndarray
    n: np.ndarray
    axis: str
    kind: str
    runs: int

    def complete(self) -> np.ndarray:
        """Where as many runs have a value as anywhere on the curve; bool [N]."""
        return self.n == self.n.max(initial=0)

    def cut(self) -> "Band":
        """The band without the positions at which runs are missing."""
        at = self.complete()
        parts = {name: getattr(self, name)[at] for name in ("x", "center", "low", "high", "n")}
        return replace(self, **parts)


def bands_title(bands: Sequence[Band]) -> str:
    """The kind of these bands in words: what their lines and areas are with as many runs as there are."""
    if not bands:
        return ""
    center, _, _ = BANDS[bands[0].kind].partition(" with ")
    if bands[0].kind != "iqm":
        return BANDS[bands[0].kind]
    spread = spread_title(bool(n < FEWEST) for band in bands for n in np.unique(band.n) if n > 1)
    return f"{center} with {spread}" if spread else center


def curve_band(
    label: str,
    curves: Sequence[Curve],
    kind: str = DEFAULT_BAND,
    axis: str = "steps",
    smoothing: int = 1,
    points: int = 201,
    repetitions: int = REPETITIONS,
) -> Band:
    """Align the curves of a group and summarise them at every position.

    Args:
        kind: one of BANDS.
        axis: one of AXES.
        smoothing: logged values in the moving mean of each run, before aligning; 1 for none.
        points: positions at most.
        repetitions: bootstrap samples of "iqm", the same runs at all positions.

    Raises:
        ConfigError: there is no such kind or axis.
    """
    if kind not in BANDS:
        raise ConfigError(f"There is no band '{kind}'.{suggestion(kind, BANDS)}")
    aligned = align([replace(curve, values=smooth(curve.values, smoothing)) for curve in curves], axis, points)
    values = aligned.values
    n = np.isfinite(values).sum(axis=0)
    summary = {"mean": _mean, "median": _median, "iqm": _iqm}[kind]
    empty = np.zeros(0)
    center, low, high = summary(values, n, repetitions) if len(values) else (empty, empty, empty)
    return Band(label, aligned.x, center, low, high, n, axis, kind, len(values))


def _mean(values: np.ndarray, n: np.ndarray, repetitions: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    center, half = mean_and_half(values)
    return center, center - half, center + half


def _median(values: np.ndarray, n: np.ndarray, repetitions: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    some = n > 0
    summaries = np.full((3, values.shape[1]), np.nan)
    if some.any():
        columns = values[:, some]
        summaries[:, some] = np.nanmedian(columns, 0), np.nanmin(columns, 0), np.nanmax(columns, 0)
    return summaries[0], summaries[1], summaries[2]


def _iqm(values: np.ndarray, n: np.ndarray, repetitions: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Positions with the same runs are summarised together; fewer than FEWEST runs have no interval but their range."""
    summaries = np.full((3, values.shape[1]), np.nan)
    patterns, which = np.unique(np.isfinite(values), axis=1, return_inverse=True)
    for index, pattern in enumerate(patterns.T):
        columns = which == index
        present = values[pattern][:, columns]
        if not len(present):
            continue
        summaries[0, columns] = iqm(present, axis=0)
        if 1 < len(present) < FEWEST:
            summaries[1:, columns] = present.min(axis=0), present.max(axis=0)
        elif len(present) > 1:
            draws = np.random.default_rng(0).integers(len(present), size=(repetitions, len(present)))
            # a slice at a time: all samples of all positions at once would take gigabytes
            sampled = np.stack([iqm(present[:, column][draws], axis=1) for column in range(present.shape[1])], axis=1)
            summaries[1:, columns] = interval_of(sampled)
    return summaries[0], summaries[1], summaries[2]


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
