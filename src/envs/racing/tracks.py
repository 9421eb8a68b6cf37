"""All tracks of an environment as the kernel needs them, with the rasters of greys from which pictures are drawn."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from envs.racing.kernel.pictures import BEHIND, DASH, EDGE, EYE, FINISH, FOCAL, GROUND, HORIZON, ROAD
from envs.racing.line import Line, LineRules
from envs.racing.map_cycle import Race
from envs.racing.state import AFTER, BEFORE, POINT, SPACING, TRACK, Tracks
from utils.processes.available_memory import available_memory, require_memory

CELL = 0.5  # metres, unless a track is too large
MOST_CELLS = 2**23
ROAD_AFTER = 120  # points of road after the finish
EDGE_WIDTH = 0.5  # metres to both sides of the edge
DASHES, DASH_WIDTH, FINISH_POINTS = 20, 0.4, 6  # points from one dash to the next, half a width in metres, points
FINE = 0.4  # of a cell: the distance of the points that are stamped


class Raster(NamedTuple):
    """`cells` uint8 `[rows, columns]`; its corner (`left`, `bottom`) and the side of a `cell` in metres."""

    cells: np.ndarray
    left: float
    bottom: float
    cell: float


def tracks_of(races: Sequence[Race], pictures: bool, rules: LineRules = LineRules()) -> Tracks:
    """The tracks of these different races, with rasters if pictures are drawn."""
    points = sum(int(race.length / SPACING) + BEFORE + AFTER for race in races)
    require_memory(f"{len(races)} tracks", points * POINT.itemsize, available_memory(), "Choose fewer tracks.")
    tracks = np.zeros(len(races), dtype=TRACK)
    lines, rasters = [race.line(rules) for race in races], []
    offset = picture = 0
    for track, line in zip(tracks, lines, strict=True):
        track["offset"], track["count"] = offset, len(line.points)
        for key in ("start", "finish", "entry", "metres", "half_width"):
            track[key] = getattr(line, key)
        offset += len(line.points)
        if pictures:
            raster = raster_of(line)
            track["picture"], (track["rows"], track["columns"]) = picture, raster.cells.shape
            for key in ("left", "bottom", "cell"):
                track[key] = getattr(raster, key)
            rasters.append(raster.cells.reshape(-1))
            picture += raster.cells.size
    of_all = np.concatenate([line.points for line in lines]).astype(POINT)
    return Tracks(tracks, of_all, np.concatenate(rasters) if rasters else np.zeros(1, np.uint8))


def raster_of(line: Line) -> Raster:
    """The road of a line, its edges, dashes along its middle, and the finish."""
    points = line.points[1 : line.finish + ROAD_AFTER]
    x, y = points["x"], points["y"]
    room = line.half_width + 1.0
    left, bottom = x.min() - room, y.min() - room
    width, height = x.max() + room - left, y.max() + room - bottom
    cell = max(CELL, float(np.sqrt(width * height / MOST_CELLS)))
    cells = np.full((int(height / cell) + 1, int(width / cell) + 1), GROUND, dtype=np.uint8)
    # points between the line's own, so that the outer sides of bends have no gaps
    every = FINE * cell / (SPACING * (1 + line.half_width / 10))
    places = np.arange(0, len(points) - 1, every)
    x, y, ax, ay = (np.interp(places, np.arange(len(points)), points[key]) for key in ("x", "y", "axis_x", "axis_y"))
    number = places.astype(int) + 1

    def stamp(grey: int, offsets: np.ndarray, which: np.ndarray | slice = slice(None)) -> None:
        across = x[which, None] - offsets * ay[which, None]
        up = y[which, None] + offsets * ax[which, None]
        cells[((up - bottom) / cell).astype(int), ((across - left) / cell).astype(int)] = grey

    def span(low: float, high: float) -> np.ndarray:
        return np.arange(low, high + 1e-9, FINE * cell)

    inside = line.half_width - EDGE_WIDTH - cell / 2
    stamp(EDGE, span(-line.half_width - EDGE_WIDTH, line.half_width + EDGE_WIDTH))
    stamp(ROAD, span(-inside, inside))
    stamp(DASH, span(-DASH_WIDTH, DASH_WIDTH), number % DASHES < DASHES // 4)
    stamp(FINISH, span(-inside, inside), (number >= line.finish) & (number < line.finish + FINISH_POINTS))
    return Raster(cells, float(left), float(bottom), cell)


def ground_of(height: int, width: int) -> np.ndarray:
    """Where pixels below the horizon lie, `[(height - sky) * width, 2]` float32: metres forward and left of the car."""
    sky, focal = height // HORIZON, FOCAL * width
    rows, columns = np.mgrid[0 : height - sky, 0:width]
    depth = EYE * focal / (rows + 0.5)
    aside = (0.5 * width - columns - 0.5) * depth / focal
    return np.stack([depth - BEHIND, aside], axis=2).reshape(-1, 2).astype(np.float32)
