"""Where a car is along the line: its zone, its metres, the distance to what comes."""

from math import inf

from envs.racing.kernel import compiled
from envs.racing.state import FIRST

# a zone's centre within which it can be entered: half a zone along the track, 45 m across it
REACH = (0.25**2 + 45.0**2) ** 0.5


@compiled()
def squared_distance(point, x, y):
    dx, dy = point.x - x, point.y - y
    return dx * dx + dy * dy


@compiled()
def downhill(points, zone, last, x, y, reach, back_reach):
    """The zone whose centre is nearest, by steps from `zone` that come nearer: first forward, then back.

    It moves forward while the next centre is at least as near as the present one and nearer than `reach`, but not past
    `last`; back, while the one before is nearer, and within `back_reach`.
    """
    here = squared_distance(points[zone], x, y)
    while zone < last:
        there = squared_distance(points[zone + 1], x, y)
        if there > here or there > reach * reach:
            break
        zone += 1
        here = there
    while zone > FIRST:
        there = squared_distance(points[zone - 1], x, y)
        if there >= here or there > back_reach * back_reach:
            break
        zone -= 1
        here = there
    return zone


@compiled()
def zone_of(points, zone, finish, x, y, back_reach):
    """The zone of a car at (x, y) that was in `zone`, by Linesight's rule where `back_reach` is `REACH`."""
    return downhill(points, zone, finish, x, y, REACH, back_reach)


@compiled()
def nearest(points, zone, last, x, y):
    """The zone whose centre is nearest, however far it is."""
    return downhill(points, zone, last, x, y, inf, inf)


@compiled()
def metres_of(points, zone, x, y):
    """Metres along the line: to the midpoint before the zone, and the clipped projection on the zone's axis."""
    point = points[zone]
    along = (x - point.mid_x) * point.axis_x + (y - point.mid_y) * point.axis_y
    return point.metres + min(max(along, 0.0), point.length)


@compiled()
def potential_of(points, zone, x, y):
    """-0.1 for each metre to the zone's centre, of 2 to 25."""
    return -0.1 * min(max(squared_distance(points[zone], x, y) ** 0.5, 2.0), 25.0)


@compiled()
def pointing_of(points, zone, ahead, cos, sin):
    """What a heading lacks of the direction from a zone's centre to that of zone `ahead`: cosine - 1, 0 to -2."""
    here, there = points[zone], points[ahead]
    dx, dy = there.x - here.x, there.y - here.y
    way = (dx * dx + dy * dy) ** 0.5
    return (cos * dx + sin * dy) / way - 1.0 if way > 0.0 else 0.0
