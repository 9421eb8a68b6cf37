"""Points at equal distances along a line, and where a line meets itself."""

import numpy as np

from envs.racing.line import distances
from envs.racing.state import SPACING
from utils.errors import ConfigError

LEAST_ZONES = 40
APART = 20.0  # metres along a line beyond which two of its points are different places


def resampled(points: np.ndarray) -> np.ndarray:
    """The line through `points` `[N, D]` as points about `SPACING` apart along it, from the first to the last.

    Straight between the given points; where these coincide, the line has no length.
    """
    lengths = distances(np.diff(points, axis=0))
    moved = np.concatenate([[True], lengths > 0])
    along = np.concatenate([[0.0], np.cumsum(lengths)])[moved]
    places = np.linspace(0.0, along[-1], round(along[-1] / SPACING) + 1)
    return np.stack([np.interp(places, along, column) for column in points[moved].T], axis=1)


def line_of_race(positions: np.ndarray) -> np.ndarray:
    """A line along the way of a car, in points about `SPACING` apart; the finish is midway between the last two.

    Args:
        positions: `[T, D]`, metres, from the start to the finish.

    Raises:
        ConfigError: the car hardly moved.
    """
    lengths = distances(np.diff(positions, axis=0))
    moved = np.concatenate([[True], lengths > 0])
    along = np.concatenate([[0.0], np.cumsum(lengths)])[moved]
    zones = round(along[-1] / SPACING - 0.5) + 0.5
    if zones < LEAST_ZONES:
        raise ConfigError(f"The car moved {along[-1]:.3g} m from the start to the end; that is no line.")
    places = along[-1] / zones * np.arange(int(zones) + 1)
    points = np.stack([np.interp(places, along, column) for column in positions[moved].T], axis=1)
    return np.concatenate([points, [2 * positions[-1] - points[-1]]])


def crossings(points: np.ndarray) -> list[int]:
    """Where a line in the plane `[N, 2]`, of points `SPACING` apart, comes to a place where it was: the first of each.

    Two places are the same if they are less than `SPACING` apart, and more than `APART` metres along the line.
    """
    least, met = int(APART / SPACING), np.zeros(len(points), bool)
    for shift in ((0, 0), (0, 1), (1, 0), (1, 1)):  # two such points share a cell of one of the four grids
        cells = np.floor(points / (2 * SPACING) + np.array(shift) / 2).astype(np.int64)
        order = np.lexsort((np.arange(len(points)), cells[:, 1], cells[:, 0]))
        same = (np.diff(cells[order], axis=0) == 0).all(axis=1) & (np.diff(order) > least)
        met[order[1:][same]] = True
    found = np.flatnonzero(met)
    return found[np.diff(found, prepend=-least - 1) > least].tolist()
