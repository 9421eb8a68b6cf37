"""All tracks of an environment as the kernel needs them."""

from collections.abc import Sequence

import numpy as np

from envs.racing.line import LineRules
from envs.racing.map_cycle import Race
from envs.racing.rasters import Raster, raster_of
from envs.racing.state import AFTER, BEFORE, POINT, SPACING, TRACK, Tracks
from utils.processes.available_memory import available_memory, require_memory


def tracks_of(races: Sequence[Race], pictures: bool, rules: LineRules = LineRules()) -> Tracks:
    """The tracks of these different races, with rasters if pictures are drawn."""
    points = sum(int(race.length / SPACING) + BEFORE + AFTER for race in races)
    require_memory(f"{len(races)} tracks", points * POINT.itemsize, available_memory(), "Choose fewer tracks.")
    records = np.zeros(len(races), dtype=TRACK)
    lines, rasters = [race.line(rules) for race in races], []
    offset = picture = 0
    for record, line in zip(records, lines, strict=True):
        record["offset"], record["count"] = offset, len(line.points)
        for key in ("start", "finish", "entry", "metres", "half_width"):
            record[key] = getattr(line, key)
        offset += len(line.points)
        if pictures:
            raster = raster_of(line)
            _note(record, raster, picture)
            rasters.append(raster.cells.reshape(-1))
            picture += raster.cells.size
    points = np.concatenate([line.points for line in lines]).astype(POINT)
    return Tracks(records, points, np.concatenate(rasters) if rasters else np.zeros(1, np.uint8))


def _note(record: np.void, raster: Raster, offset: int) -> None:
    record["picture"] = offset
    record["rows"], record["columns"] = raster.cells.shape
    for key in ("left", "bottom", "cell"):
        record[key] = getattr(raster, key)
