"""The fixed means and deviations of the float view."""

import numpy as np

from envs.racing.kernel.floats import FAR, TURNING_AT, VELOCITY_AT, WHEELS_AT, ZONES_AT
from envs.racing.state import SPACING, float_size


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
