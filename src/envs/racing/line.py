"""A track from the points of its line: extended, smoothed, with zones, midpoints and axes."""

from typing import NamedTuple

import numpy as np

from envs.racing.state import AFTER, BEFORE, FIRST, POINT, SPACING

SMOOTHING = 5  # a centre becomes the mean of those so many before and after it


class Line(NamedTuple):
    """A track: `points` POINT `[P]`, the zones of its start and finish, the metres of its finish, half its width."""

    points: np.ndarray
    start: int
    finish: int
    metres: float
    half_width: float


def line_of(centres: np.ndarray, half_width: float) -> Line:
    """From centre points `[N, 2]` that are `SPACING` apart."""
    centres = smoothed(extended(centres))
    middles = 0.5 * (centres[:-1] + centres[1:])
    steps = np.diff(middles, axis=0)
    lengths = np.hypot(*steps.T)
    points = np.zeros(len(centres), dtype=POINT)
    points["x"], points["y"] = centres.T
    # zone i lies between the midpoints i - 1 and i
    inner = points[1:-1]
    inner["mid_x"], inner["mid_y"] = middles[:-1].T
    inner["axis_x"], inner["axis_y"] = (steps / lengths[:, None]).T
    inner["length"] = lengths
    along = np.concatenate([[0.0], np.cumsum(lengths)])
    start, finish = BEFORE, len(centres) - 1 - AFTER
    from_start = along - along[start - FIRST] - 0.5 * lengths[start - FIRST]
    inner["metres"] = from_start[:-1]
    end = points[finish]
    on_axis = (end["x"] - end["mid_x"]) * end["axis_x"] + (end["y"] - end["mid_y"]) * end["axis_y"]
    return Line(points, start, finish, float(end["metres"] + on_axis), half_width)


def extended(centres: np.ndarray) -> np.ndarray:
    """The line with `BEFORE` points before its start and `AFTER` after its finish, in its directions there."""
    first, last = (centres[0] - centres[1], centres[-1] - centres[-2])
    first, last = (SPACING * one / np.hypot(*one) for one in (first, last))
    before = centres[0] + first * np.arange(BEFORE, 0, -1)[:, None]
    return np.concatenate([before, centres, centres[-1] + last * np.arange(1, AFTER + 1)[:, None]])


def smoothed(centres: np.ndarray) -> np.ndarray:
    """Each centre as the mean of those `SMOOTHING` before and after it; the outermost stay."""
    k, result = SMOOTHING, centres.copy()
    result[k:-k] = 0.5 * (centres[: -2 * k] + centres[2 * k :])
    return result
