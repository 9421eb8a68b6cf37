"""Cars before a race."""

from envs.racing.jit import compiled
from envs.racing.kernel.zones import metres_of
from envs.racing.state import PREVIOUS, ROW, WHEELS

ASIDE = 0.4  # of the road's half width


@compiled()
def place(race, cars, tracks):
    """Put the cars of a race on the grid: two in a row, the last row at zone `begin`, where car `first` is."""
    track = tracks.tracks[race.track]
    points = tracks.points[track.offset : track.offset + track.count]
    n = cars.size
    for i in range(n):
        car = cars[i]
        slot = (i - race.first) % n
        zone = race.begin + ROW * (slot // 2)
        point = points[zone]
        aside = 0.0
        if n > 1:
            aside = ASIDE * track.half_width * (1.0 if slot % 2 == 0 else -1.0)
        car.x = point.x - aside * point.axis_y
        car.y = point.y + aside * point.axis_x
        car.cos, car.sin = point.axis_x, point.axis_y
        car.forward = car.left = car.yaw = car.steer = car.rpm = 0.0
        car.shifting = car.changes = car.hits = car.idle_ms = car.race_ms = car.finished = 0
        car.gear = car.playing = 1
        car.near = car.zone = car.furthest = zone
        car.metres = car.begun = metres_of(points, zone, car.x, car.y)
        for k in range(WHEELS):
            car.slides[k] = car.off[k] = 0
        for k in range(PREVIOUS):
            car.last[k] = -1
