"""A track from the points of its line: extended, smoothed, with zones, midpoints and axes."""

from functools import reduce
from typing import NamedTuple

import numpy as np

from envs.racing.state import AFTER, BEFORE, FIRST, POINT, SPACING

SMOOTHING = 5  # a centre becomes the mean of those so many before and after it


class LineRules(NamedTuple):
    """What Linesight does otherwise (docs/linesight.md).

    `ends`: points beyond start and finish are `SPACING` apart ("spacing"), or as far apart as the two at that end
    ("step", Linesight). `finish`: a race that is finished is at the finish ("line"), or one zone beyond it, at the
    midpoint behind that zone ("beyond", Linesight).
    """

    ends: str = "spacing"
    finish: str = "line"


class Line(NamedTuple):
    """A track: `points` POINT `[P]`, zones of its start and finish, half its width.

    `entry` and `metres`: zone and metres of a race that is finished.
    """

    points: np.ndarray
    start: int
    finish: int
    entry: int
    metres: float
    half_width: float


class Geometry(NamedTuple):
    """Zones along a line in the plane or in space; zone i lies between the midpoints i - 1 and i.

    `centres` `[P, D]`; of zones 1 .. P - 2, so that entry i - 1 is zone i's: `middles` `[P - 2, D]`, the midpoint
    before it, `axes` `[P - 2, D]`, the direction to the next midpoint, `lengths`, the way to it, and `metres`, from the
    start to the midpoint before it. `start` and `finish` are zones; a race that is finished is in zone `entry`, and
    has come `end` metres far.
    """

    centres: np.ndarray
    middles: np.ndarray
    axes: np.ndarray
    lengths: np.ndarray
    metres: np.ndarray
    start: int
    finish: int
    entry: int
    end: float


def line_of(centres: np.ndarray, half_width: float, rules: LineRules = LineRules()) -> Line:
    """From centre points `[N, 2]` that are `SPACING` apart."""
    geometry = geometry_of(centres, rules)
    points = np.zeros(len(geometry.centres), dtype=POINT)
    points["x"], points["y"] = geometry.centres.T
    inner = points[1:-1]
    inner["mid_x"], inner["mid_y"] = geometry.middles.T
    inner["axis_x"], inner["axis_y"] = geometry.axes.T
    inner["length"], inner["metres"] = geometry.lengths, geometry.metres
    return Line(points, geometry.start, geometry.finish, geometry.entry, geometry.end, half_width)


def geometry_of(centres: np.ndarray, rules: LineRules = LineRules()) -> Geometry:
    """From centre points `[N, D]`, extended and smoothed."""
    centres = smoothed(extended(centres, rules.ends))
    middles = 0.5 * (centres[:-1] + centres[1:])
    steps = np.diff(middles, axis=0)
    lengths = distances(steps)
    axes = steps / lengths[:, None]
    along = np.concatenate([[0.0], np.cumsum(lengths)])
    start, finish = BEFORE, len(centres) - 1 - AFTER
    metres = (along - along[start - FIRST] - 0.5 * lengths[start - FIRST])[:-1]
    if rules.finish == "beyond":
        entry, end = finish + 1, metres[finish + 1]
    else:
        on_axis = ((centres[finish] - middles[finish - 1]) * axes[finish - 1]).sum()
        entry, end = finish, metres[finish - 1] + on_axis
    return Geometry(centres, middles[:-1], axes, lengths, metres, start, finish, entry, float(end))


def distances(vectors: np.ndarray) -> np.ndarray:
    return reduce(np.hypot, np.moveaxis(vectors, -1, 0))


def extended(centres: np.ndarray, ends: str = "spacing") -> np.ndarray:
    """The line with `BEFORE` points before its start and `AFTER` after its finish, in its directions there.

    Args:
        ends: of `LineRules`.
    """
    first, last = (centres[0] - centres[1], centres[-1] - centres[-2])
    if ends == "spacing":
        first, last = (SPACING * one / distances(one) for one in (first, last))
    before = centres[0] + first * np.arange(BEFORE, 0, -1)[:, None]
    return np.concatenate([before, centres, centres[-1] + last * np.arange(1, AFTER + 1)[:, None]])


def smoothed(centres: np.ndarray) -> np.ndarray:
    """Each centre as the mean of those `SMOOTHING` before and after it; the outermost stay."""
    k, result = SMOOTHING, centres.copy()
    result[k:-k] = 0.5 * (centres[: -2 * k] + centres[2 * k :])
    return result
