"""A driver written by hand: it follows a line near the middle and brakes early enough for the bends that it sees.

It needs the simulator, not an observation. Its race times are references for what learns.
"""

from dataclasses import dataclass

import numpy as np

from envs.racing.batch import BatchedRaces
from envs.racing.state import SPACING

LEFT, RIGHT = 1, 2
ACCELERATE, ROLL, BRAKE = 0, 3, 6  # actions without steering; + LEFT or RIGHT


@dataclass(frozen=True)
class Style:
    """How it drives.

    Args:
        cornering: m/s2 across the car that it plans with.
        braking: m/s2 along it.
        margin: metres that its line keeps from the edges of the road.
        look: seconds ahead of the point that it steers for, besides 3 m.
        deadband: rad of error in the heading below which it does not steer.
    """

    cornering: float = 12.0
    braking: float = 11.0
    margin: float = 2.0
    look: float = 0.25
    deadband: float = 0.03


class Driver:
    """Drives all cars of all races; `actions` says what they do next."""

    def __init__(self, races: BatchedRaces, style: Style | None = None):
        self._races, self._style = races, style or Style()
        self._plans = [self._plan(track) for track in races.tracks.tracks]

    def _plan(self, track: np.void) -> tuple[np.ndarray, np.ndarray]:
        """A line `[P, 2]` along the zones of a track, and the speed at each, m/s."""
        points = self._races.tracks.points[track["offset"] :][: track["count"]]
        middle = np.stack([points["x"], points["y"]], axis=1)
        line = shortest(middle, track["half_width"] - self._style.margin, int(track["finish"]) + 100)
        steps = np.diff(line, axis=0)
        lengths = np.maximum(np.hypot(*steps.T), 1e-6)
        heading = np.unwrap(np.arctan2(steps[:, 1], steps[:, 0]))
        curvature = np.abs(_mean_of(np.gradient(heading) / lengths, 11))
        speed = np.append(np.sqrt(self._style.cornering / np.maximum(curvature, 1e-4)), 100.0)
        for k in range(len(speed) - 2, -1, -1):  # brake in time
            speed[k] = min(speed[k], np.sqrt(speed[k + 1] ** 2 + 2 * self._style.braking * lengths[k]))
        return line, speed

    def actions(self) -> np.ndarray:
        """int64 `[B, n]`."""
        races, style = self._races.races, self._style
        chosen = np.zeros(races.cars.shape, dtype=np.int64)
        for b, race in enumerate(races.race):
            line, speeds = self._plans[race["track"]]
            for i, car in enumerate(races.cars[b]):
                ahead = int((3.0 + style.look * max(car["forward"], 5.0)) / SPACING)
                zone = int(car["near"])
                goal = line[min(zone + ahead, len(line) - 1)]
                dx, dy = goal[0] - car["x"], goal[1] - car["y"]
                forward = car["cos"] * dx + car["sin"] * dy
                left = car["cos"] * dy - car["sin"] * dx
                wanted = max(car["forward"], 3.0) * 2 * left / (forward**2 + left**2 + 1e-9)
                chosen[b, i] = self._pedal(car, speeds[zone]) + self._steering(wanted - car["yaw"], car)
        return chosen

    def _pedal(self, car: np.void, speed: float) -> int:
        if car["forward"] > speed + 1.5:
            return BRAKE
        return ACCELERATE if car["forward"] < speed else ROLL

    def _steering(self, error: float, car: np.void) -> int:
        error -= 1.5 * car["steer"] * (abs(error) < 0.2)
        if abs(error) < self._style.deadband * max(car["forward"], 5.0) / 5.0:
            return 0
        return LEFT if error > 0 else RIGHT


def shortest(middle: np.ndarray, room: float, last: int, every: int = 10, sweeps: int = 400) -> np.ndarray:
    """The line that bends least within `room` of the middle, as a stretched rubber band: `[P, 2]`."""
    chosen = middle[:last:every]
    direction = np.gradient(chosen, axis=0)
    normal = np.stack([-direction[:, 1], direction[:, 0]], axis=1) / np.hypot(*direction.T)[:, None]
    aside = np.zeros(len(chosen))
    for _ in range(sweeps):
        line = chosen + aside[:, None] * normal
        # towards the place that makes the second differences smallest
        pull = np.zeros_like(line)
        pull[2:-2] = (4 * (line[1:-3] + line[3:-1]) - line[:-4] - line[4:]) / 6 - line[2:-2]
        aside = np.clip(aside + 0.9 * (pull * normal).sum(axis=1), -max(room, 0), max(room, 0))
    line = middle.copy()
    places = np.arange(len(middle))
    known = places[:last:every]
    offset = _mean_of(_mean_of(np.interp(places, known, aside), 2 * every + 1), 2 * every + 1)
    full = np.gradient(middle, axis=0)
    across = np.stack([-full[:, 1], full[:, 0]], axis=1) / np.maximum(np.hypot(*full.T), 1e-9)[:, None]
    return line + offset[:, None] * across


def _mean_of(values: np.ndarray, width: int) -> np.ndarray:
    return np.convolve(np.pad(values, width // 2, mode="edge"), np.ones(width) / width, mode="valid")
