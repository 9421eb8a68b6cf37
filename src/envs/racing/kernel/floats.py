"""The float view, in Linesight's layout (docs/racing.md)."""

import numpy as np

from envs.racing.kernel import compiled
from envs.racing.state import PREVIOUS, SPACING, WHEELS, float_size

FAR = 700.0  # metres to the finish that are shown at most
WHEELS_AT, TURNING_AT, VELOCITY_AT, UP_AT, ZONES_AT = 21, 53, 56, 59, 62


@compiled()
def write_wheels(car, world, out):
    """The 32 numbers of `car_gear_and_wheels`."""
    for k in range(32):
        out[k] = 0.0
    for wheel in range(WHEELS):
        out[wheel] = car.slides[wheel]
        out[4 + wheel] = 1.0  # they never leave the ground
        off = car.off[wheel]
        out[16 + 4 * wheel + off] = 1.0
    out[12] = car.shifting > 0
    out[13] = car.gear
    out[14] = car.rpm
    out[15] = car.changes


@compiled()
def write_floats(cars, i, world, points, track, wheels, views, out):
    """The float view of car i, `[F]`, scaled."""
    car = cars[i]
    size = out.size
    out[0] = 0.0
    for k in range(PREVIOUS):
        action, at = car.last[k], 1 + 4 * k
        pedals, steering = action // 3, action % 3
        out[at] = action >= 0 and (pedals == 0 or pedals == 3)
        out[at + 1] = action >= 0 and pedals >= 2
        out[at + 2] = action >= 0 and steering == 1
        out[at + 3] = action >= 0 and steering == 2
    for k in range(32):
        out[WHEELS_AT + k] = wheels[k]
    for k in range(TURNING_AT, ZONES_AT):
        out[k] = 0.0
    out[TURNING_AT + 1] = car.yaw
    out[VELOCITY_AT] = car.left
    out[VELOCITY_AT + 2] = car.forward
    out[UP_AT + 1] = 1.0
    cos, sin = car.cos, car.sin
    at, zone = ZONES_AT, car.zone
    for _ in range(world.zones_ahead):
        point = points[min(zone, track.count - 1)]
        dx, dy = point.x - car.x, point.y - car.y
        out[at] = cos * dy - sin * dx
        out[at + 1] = 0.0
        out[at + 2] = cos * dx + sin * dy
        at += 3
        zone += world.zones_every
    out[at] = min(track.metres - car.metres, FAR)
    out[at + 1] = 0.0
    write_others(cars, i, world, out, at + 2)
    for k in range(size):
        out[k] = (out[k] - views.mean[k]) * views.scale[k]


@compiled()
def write_others(cars, i, world, out, at):
    """Place and velocity, left and forward, of the nearest other cars that play, the nearest first; zeros if fewer."""
    car = cars[i]
    nearer, nearer_one = -1.0, -1
    for _ in range(world.seen_cars):
        best, found = 1e30, -1
        for j in range(cars.size):
            other = cars[j]
            if j == i or not other.playing:
                continue
            dx, dy = other.x - car.x, other.y - car.y
            distance = dx * dx + dy * dy
            # those of equal distance in the order of their numbers
            later = distance > nearer or (distance == nearer and j > nearer_one)
            if later and distance < best:
                best, found = distance, j
        for k in range(4):
            out[at + k] = 0.0
        if found >= 0:
            other = cars[found]
            dx, dy = other.x - car.x, other.y - car.y
            vx = other.cos * other.forward - other.sin * other.left
            vy = other.sin * other.forward + other.cos * other.left
            out[at] = car.cos * dy - car.sin * dx
            out[at + 1] = car.cos * dx + car.sin * dy
            out[at + 2] = car.cos * vy - car.sin * vx - car.left
            out[at + 3] = car.cos * vx + car.sin * vy - car.forward
            nearer, nearer_one = best, found
        at += 4


def scaling_of(zones_ahead: int, zones_every: int, seen_cars: int) -> tuple[np.ndarray, np.ndarray]:
    """Mean and deviation of each number of the float view, float32 `[F]` each.

    The first number, the time of mini-races, stays as it is.
    """
    size = float_size(zones_ahead, seen_cars)
    mean, deviation = np.zeros(size, np.float32), np.ones(size, np.float32)
    deviation[WHEELS_AT + 13], deviation[WHEELS_AT + 15] = 4.0, 20.0  # gear, changes of gears
    deviation[TURNING_AT + 1] = 1.0  # rad/s
    deviation[VELOCITY_AT], deviation[VELOCITY_AT + 2], mean[VELOCITY_AT + 2] = 4.0, 12.0, 25.0
    ahead = SPACING * zones_every * np.arange(zones_ahead)
    zones = slice(ZONES_AT, ZONES_AT + 3 * zones_ahead)
    deviation[zones] = np.repeat(4.0 + 0.35 * ahead, 3)
    mean[zones][2::3] = 0.75 * ahead
    at = ZONES_AT + 3 * zones_ahead
    mean[at], deviation[at] = FAR / 2, FAR / 2
    for k in range(at + 2, size, 4):
        deviation[k : k + 4] = 5.0, 15.0, 4.0, 8.0
    return mean, deviation
