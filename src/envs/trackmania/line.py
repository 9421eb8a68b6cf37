"""A reference line in space: its file, and where a car is along it.

Racing has the same rules in the plane, compiled (`envs.racing.kernel.zones`); tests compare the two.
"""

from functools import lru_cache

import numpy as np

from envs.racing.kernel.zones import REACH
from envs.racing.line import Geometry, LineRules, distances, geometry_of
from envs.racing.state import FIRST, SPACING
from envs.racing.track_files import points_of, require_gaps_in_space
from utils.errors import ConfigError
from utils.plain_values import quoted

FLAT = 0.02  # of the spacing: midpoints of zones that are nearer are those of a line that turns back


class ReferenceLine:
    """Zones along a line; `geometry` has their places.

    Args:
        centres: `[N, 3]`, metres, about `SPACING` apart; the finish lies midway between the last two.
    """

    def __init__(self, centres: np.ndarray, rules: LineRules = LineRules()):
        self.geometry: Geometry = geometry_of(centres, rules)
        self.start, self.finish, self.end = self.geometry.start, self.geometry.finish, self.geometry.end
        self.entry = self.geometry.entry

    def zone_of(self, zone: int, position: np.ndarray, back_reach: float = np.inf) -> int:
        """The zone of a car at `position` `[3]` that was in `zone` (`docs/racing.md`); it goes back to a zone that is
        within `back_reach` metres (Linesight: `REACH`)."""
        here = self.distance(zone, position)
        while zone < self.finish:
            there = self.distance(zone + 1, position)
            if there > here or there > REACH:
                break
            zone, here = zone + 1, there
        while zone > FIRST:
            there = self.distance(zone - 1, position)
            if there >= here or there > back_reach:
                break
            zone, here = zone - 1, there
        return zone

    def metres_of(self, zone: int, position: np.ndarray) -> float:
        """Metres along the line: to the midpoint before the zone, and the clipped projection on the zone's axis."""
        lines, k = self.geometry, zone - 1
        along = float((position - lines.middles[k]) @ lines.axes[k])
        return float(lines.metres[k] + min(max(along, 0.0), lines.lengths[k]))

    def distance(self, zone: int, position: np.ndarray) -> float:
        return float(distances(self.geometry.centres[zone] - position))

    def ahead(self, zone: int, count: int, every: int) -> np.ndarray:
        """The centres `[count, 3]` of every `every`-th zone from `zone` on; the last one again beyond the end."""
        zones = np.minimum(zone + every * np.arange(count), len(self.geometry.centres) - 1)
        return self.geometry.centres[zones]


@lru_cache(maxsize=256)
def read_line(path: str, rules: LineRules = LineRules()) -> ReferenceLine:
    """The line of a file: `.npy`, or text, with x, y (height) and z of a point in each line."""
    where = f"the line {quoted(path)}"
    return line_through(points_of(path, where), where, rules)


def line_through(points: np.ndarray, where: str, rules: LineRules = LineRules()) -> ReferenceLine:
    """The line of the points of a file; `where`: for the ConfigError that names the first point that is invalid."""
    if points.shape[1] != 3:
        raise ConfigError(f"{where} has two numbers in each line; it must have three: x, height, z.")
    require_gaps_in_space(points, where)
    with np.errstate(invalid="ignore", divide="ignore"):
        line = ReferenceLine(points, rules)
    flat = ~(line.geometry.lengths >= FLAT * SPACING)
    if flat.any():
        raise ConfigError(f"{where} turns back at point {max(int(flat.argmax()) + 1 - line.start, 0)}.")
    return line
