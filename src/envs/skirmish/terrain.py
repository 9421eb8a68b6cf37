"""The ground of a map: where one can walk, and the way around what blocks it."""

from functools import cache
from typing import NamedTuple

import numpy as np

from envs.skirmish.kernel.ways import fill_waypoints, reach_the_nearest
from envs.skirmish.maps import load_data
from envs.skirmish.state import SIZE

CELLS = SIZE * SIZE  # a cell is 1 x 1 map units; cell (x, y) has the number x * SIZE + y


class Terrain(NamedTuple):
    """A map as the kernel needs it.

    `waypoint[g, c]` is the cell to walk straight to when one stands in cell c and wants to reach cell g: g itself if
    the way there is free, otherwise the last cell that can be seen along a shortest path. When g cannot be reached
    at all, the path leads to the cell nearest to it that can.
    """

    open: np.ndarray  # [SIZE, SIZE] bool, indexed [x, y]
    height: np.ndarray  # [SIZE, SIZE]: 1 on high ground, 0 on low
    convex: bool  # nothing is in the way between any two open cells: `waypoint` is not needed and has one element
    waypoint: np.ndarray  # [CELLS, CELLS] int16


@cache
def load_terrain(name: str) -> Terrain:
    """The terrain of that name in data/maps.json."""
    rows = load_data()["terrains"][name]
    return make_terrain(_grid(rows["open"]), _grid(rows["high"]).astype(float))


def _grid(rows: list[str]) -> np.ndarray:
    return np.array([[cell == "." for cell in row] for row in rows]).T


def make_terrain(is_open: np.ndarray, height: np.ndarray) -> Terrain:
    """Work out the ways over a grid of open cells, `[x, y]`."""
    xs, ys = np.nonzero(is_open)
    convex = bool(is_open[xs.min() : xs.max() + 1, ys.min() : ys.max() + 1].all())
    waypoint = np.zeros((1, 1), dtype=np.int16) if convex else _waypoints(is_open)
    return Terrain(is_open, height, convex, waypoint)


def _waypoints(is_open: np.ndarray) -> np.ndarray:
    ways = np.empty((CELLS, CELLS), dtype=np.int16)
    fill_waypoints(is_open, ways, np.empty((SIZE, SIZE)), np.empty(8 * CELLS, dtype=np.int64))
    reach_the_nearest(is_open, ways, ways >= 0)
    return ways
