"""Curves: a statistic over the steps of a run, from the metric log or from Sacred's files."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

import numpy as np

from browser.reading.json_files import JsonObject, plain
from records.limits import LONGEST_KEY, MOST_METRICS
from records.metric_log import LARGEST_STEP
from records.metric_rows import Rows

# the axes of a curve, and their units
AXES = {
    "steps": "Environment steps",
    "episodes": "Episodes",
    "seconds": "Wall-clock time (s)",
    "updates": "Updates",
}


@dataclass(frozen=True, eq=False)
class Curve:
    """One statistic of one run.

    Attributes:
        key: as logged, e.g. "test_return_mean".
        steps: training environment steps (t_env), strictly increasing; int64 [n].
        values: may be NaN or infinite; float64 [n].
        episodes: training episodes until then; float64 [n], None if not recorded.
        seconds: training seconds until then; float64 [n], None if not recorded.
        updates: of the learner until then, between those that were logged; float64 [n], None if not recorded.
        source: the file it was read from.
    """

    key: str
    steps: np.ndarray
    values: np.ndarray
    episodes: np.ndarray | None = None
    seconds: np.ndarray | None = None
    source: str = ""
    updates: np.ndarray | None = None

    def over(self, axis: str) -> np.ndarray | None:
        """The positions on one of AXES; None if they were not recorded."""
        return getattr(self, axis) if axis in AXES else None

    def finite(self) -> "Curve":
        """The curve without values that are NaN or infinite."""
        return self._at(np.isfinite(self.values))

    def thinned(self, most: int) -> "Curve":
        """The curve with at most `most` points (4 at least): the lowest and highest of stretches of one length."""
        n = len(self.steps)
        if n <= max(most, 4):
            return self
        edges = np.linspace(0, n, max(most // 2 - 1, 1) + 1).astype(np.int64)
        rising = np.where(np.isnan(self.values), np.inf, self.values)
        falling = np.where(np.isnan(self.values), -np.inf, self.values)
        stretches = [(a, b) for a, b in pairwise(edges.tolist()) if a < b]
        lowest = [a + int(rising[a:b].argmin()) for a, b in stretches]
        highest = [a + int(falling[a:b].argmax()) for a, b in stretches]
        return self._at(np.unique([0, *lowest, *highest, n - 1]))

    def _at(self, which: np.ndarray) -> "Curve":
        if which.dtype == bool and which.all():
            return self
        episodes, seconds, updates = (
            None if x is None else x[which] for x in (self.episodes, self.seconds, self.updates)
        )
        return replace(
            self,
            steps=self.steps[which],
            values=self.values[which],
            episodes=episodes,
            seconds=seconds,
            updates=updates,
        )


def from_rows(key: str, rows: Rows, source: str) -> Curve:
    """A curve from rows of the metric log."""
    return Curve(key, rows.t_env.astype(np.int64), rows.value, rows.episode, rows.seconds, source)


def keys_in(metrics: JsonObject | None, info: JsonObject | None) -> list[str]:
    """The keys that Sacred's files of a run have curves of, sorted; at most MOST_METRICS of each file."""
    keys = set(metrics.keys(MOST_METRICS)) if metrics else set()
    if info:
        in_info = set(info.keys(2 * MOST_METRICS))
        keys |= {key for key in in_info if f"{key}_T" in in_info}
    return sorted(key for key in keys if len(key) <= LONGEST_KEY)[:MOST_METRICS]


def from_sacred(
    keys: Iterable[str], metrics: JsonObject | None, info: JsonObject | None, started: datetime | None
) -> dict[str, Curve]:
    """Curves from a run's metrics.json and, where that has none, from info.json's `key` and `key_T`.

    Lists of unequal length, as a file that is cut off has them, are read as far as all of them go.

    Args:
        started: when the run started, for seconds from the times in metrics.json.
    """
    curves = {}
    for key in keys:
        curve = _from_metrics(key, metrics, started) or _from_info(key, info)
        if curve is not None:
            curves[key] = curve
    episode = curves.get("episode") or _from_metrics("episode", metrics, started) or _from_info("episode", info)
    return {key: with_axis(curve, "episodes", episode) for key, curve in curves.items()}


def join(parts: Iterable[tuple[Curve, int | None]]) -> Curve | None:
    """The curve of a run whose sessions were recorded apart.

    A session may start by repeating the past, with the times of resuming; the past is taken from the original
    sessions.

    Args:
        parts: for each session, oldest first, its curve and the step from which it resumed (None: not recorded; then
            it replaces what it repeats).
    """
    joined = None
    for part, resumed_at in parts:
        if joined is None or not len(joined.steps):
            joined = part
        elif resumed_at is not None:
            joined = _joined(joined._at(joined.steps <= resumed_at), part._at(part.steps > resumed_at))
        elif len(part.steps):
            joined = _joined(joined._at(joined.steps < part.steps[0]), part)
    return joined


def _joined(earlier: Curve, later: Curve) -> Curve:
    def both(first: np.ndarray | None, second: np.ndarray | None) -> np.ndarray | None:
        return None if first is None or second is None else np.r_[first, second]

    seconds = both(earlier.seconds, later.seconds)
    if seconds is not None and earlier.seconds is not None and len(earlier.seconds):
        # Sacred's times start again with each session
        seconds[len(earlier.seconds) :] += earlier.seconds[-1]
    return replace(
        later,
        steps=np.r_[earlier.steps, later.steps],
        values=np.r_[earlier.values, later.values],
        episodes=both(earlier.episodes, later.episodes),
        seconds=seconds,
        updates=both(earlier.updates, later.updates),
    )


def _from_metrics(key: str, metrics: JsonObject | None, started: datetime | None) -> Curve | None:
    entry = metrics.get(key) if metrics else None
    if not isinstance(entry, Mapping):
        return None
    steps, values = _array(entry.get("steps")), _array(entry.get("values"))
    times = entry.get("timestamps")
    seconds = _seconds(times, started) if isinstance(times, list) else None
    return _curve(key, steps, values, seconds, "metrics.json")


def _from_info(key: str, info: JsonObject | None) -> Curve | None:
    if info is None:
        return None
    return _curve(key, _array(info.get(f"{key}_T")), _array(info.get(key)), None, "info.json")


def _curve(key: str, steps: Any, values: Any, seconds: np.ndarray | None, source: str) -> Curve | None:
    """A curve from columns of any lengths, without steps that are no number or that are repeated later."""
    if steps is None or values is None:
        return None
    n = min(len(steps), len(values)) if seconds is None else min(len(steps), len(values), len(seconds))
    steps = np.where(np.abs(steps[:n]) <= LARGEST_STEP, steps[:n], np.inf)
    keep = steps < np.minimum.accumulate(np.r_[steps[1:], np.inf][::-1])[::-1] if n else np.zeros(0, bool)
    seconds = None if seconds is None else seconds[:n][keep]
    return Curve(key, steps[keep].astype(np.int64), values[:n][keep], None, seconds, source)


def with_axis(curve: Curve, axis: str, logged: Curve | None) -> Curve:
    """A curve with the counts of an axis at its steps, between those that were logged."""
    if logged is None or not len(logged.steps):
        return curve
    return replace(curve, **{axis: np.interp(curve.steps, logged.steps, logged.values)})


def _array(values: Any) -> np.ndarray | None:
    """A list of numbers or encoded NumPy scalars, NaN for anything else: float64 [n]."""
    values = plain(values) if isinstance(values, dict) else values
    if not isinstance(values, list):
        return None
    try:
        array = np.array(values, dtype=np.float64)
        if array.ndim == 1:
            return array
    except (ValueError, TypeError, OverflowError):
        pass
    return np.array([_number(plain(value)) for value in values], dtype=np.float64)


def _number(value: Any) -> float:
    try:
        return float(value) if isinstance(value, int | float) else np.nan
    except OverflowError:
        return np.nan


def _seconds(times: list, started: datetime | None) -> np.ndarray | None:
    """Sacred's times (UTC) as seconds since the start; float64 [n]."""
    try:
        stamps = np.array(times, dtype="datetime64[us]")
    except (ValueError, TypeError, OverflowError):
        return None
    if started is None or not len(stamps):
        return None
    start = np.datetime64(started.astimezone(UTC).replace(tzinfo=None), "us")
    return (stamps - start) / np.timedelta64(1, "s")
