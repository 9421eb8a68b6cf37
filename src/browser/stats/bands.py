"""A group's learning curve: a centre and how far the runs spread around it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import special

from browser.reading.curves import Curve
from browser.stats.aggregates import FEWEST, LEVEL, REPETITIONS, interval_of, iqm, spread_title
from browser.stats.alignment import align, smooth
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
    """Mean ± t(0.975, n - 1) · s / √n, s with n - 1."""
    counted = np.maximum(n, 1)
    center = np.where(n > 0, np.nansum(values, axis=0) / counted, np.nan)
    variance = np.nansum((values - center) ** 2, axis=0) / np.maximum(n - 1, 1)
    quantile = special.stdtrit(np.maximum(n - 1, 1), 0.5 + LEVEL / 2)  # Student's t; scipy.stats imports for a second
    half = np.where(n > 1, quantile * np.sqrt(variance / counted), np.nan)
    return center, center - half, center + half


def _median(values: np.ndarray, n: np.ndarray, repetitions: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    some = n > 0
    summaries = np.full((3, values.shape[1]), np.nan)
    if some.any():
        columns = values[:, some]
        summaries[:, some] = np.nanmedian(columns, 0), np.nanmin(columns, 0), np.nanmax(columns, 0)
    return tuple(summaries)


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
    return tuple(summaries)
