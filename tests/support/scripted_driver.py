"""A driver written by hand: it follows a line and brakes early enough for the bends ahead.

It needs the simulator, not an observation. Its race times are references for what learns.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from envs.racing.batch import BatchedRaces
from envs.racing.state import SPACING

LEFT, RIGHT = 1, 2
ACCELERATE, ROLL, BRAKE = 0, 3, 6  # actions without steering; + LEFT or RIGHT
SWEEPS, RELAXED = 300, 0.35  # of a step of the relaxation, stable up to 0.75
KNOT = 20  # zones between the points where a line's distance from the middle is chosen


@dataclass(frozen=True)
class Style:
    """How it drives.

    Args:
        cornering: m/s2 across the car that it plans with.
        braking: m/s2 along it.
        margin: metres that its line keeps from the edges of the road.
        look: seconds ahead of the point that it steers for, besides 3 m.
        deadband: of the error in the turning rate, rad/s at 5 m/s, below which it does not steer.
    """

    cornering: float = 12.0
    braking: float = 14.0
    margin: float = 2.0
    look: float = 0.5
    deadband: float = 0.02


class Plans(NamedTuple):
    """K plans for tracks of up to P zones: where to drive `[K, P, 2]`, and how fast at most `[K, P]`."""

    line: np.ndarray
    speed: np.ndarray


class Driver:
    """Drives all cars of all races; `actions` says what they do next.

    Args:
        races: those.
        style: how.
        plans: one for each race; None: one for each track, along the line that bends least.
    """

    def __init__(self, races: BatchedRaces, style: Style | None = None, plans: Plans | None = None):
        self._races, self._style, self._own = races, style or Style(), plans
        if plans is None:
            tracks = [self._plan(track) for track in range(len(races.maps))]
            zones = max(len(plan.speed[0]) for plan in tracks)
            self._plans = Plans(*(_stacked([plan[k][0] for plan in tracks], zones) for k in range(2)))
        else:
            self._plans = plans

    def _plan(self, track: int) -> Plans:
        middle, half_width, last = middle_of(self._races, track)
        knots = least_bent(middle[:last:KNOT], half_width - self._style.margin)
        return plans_of(middle, knots[None], np.full((1, len(knots)), self._style.cornering), self._style)

    def actions(self) -> np.ndarray:
        """int64 `[B, n]`."""
        cars, style, line = self._races.state.cars, self._style, self._plans.line
        own = np.arange(len(cars)) if self._own is not None else self._races.state.race["track"]
        row = np.broadcast_to(own[:, None], cars.shape)
        speed, zone = cars["forward"], cars["near"]
        ahead = ((3.0 + style.look * np.maximum(speed, 5.0)) / SPACING).astype(np.int64)
        goal = line[row, np.minimum(zone + ahead, line.shape[1] - 1)]
        dx, dy = goal[..., 0] - cars["x"], goal[..., 1] - cars["y"]
        forward = cars["cos"] * dx + cars["sin"] * dy
        left = cars["cos"] * dy - cars["sin"] * dx
        # the turning rate of the arc to the goal, and what the present one lacks of it
        error = np.maximum(speed, 3.0) * 2 * left / (forward**2 + left**2 + 1e-9) - cars["yaw"]
        error -= 1.5 * cars["steer"] * (np.abs(error) < 0.2)
        still = np.abs(error) < style.deadband * np.maximum(speed, 5.0) / 5.0
        steering = np.where(still, 0, np.where(error > 0, LEFT, RIGHT))
        most = self._plans.speed[row, zone]
        pedals = np.where(speed > most + 1.5, BRAKE, np.where(speed < most, ACCELERATE, ROLL))
        return pedals + steering


def middle_of(races: BatchedRaces, track: int) -> tuple[np.ndarray, float, int]:
    """The centres of a track's zones `[P, 2]`, half its width, and the zone 50 m after its finish."""
    record = races.tracks.tracks[track]
    points = races.tracks.points[record["offset"] :][: record["count"]]
    return np.stack([points["x"], points["y"]], axis=1), float(record["half_width"]), int(record["finish"]) + 100


def plans_of(middle: np.ndarray, knots: np.ndarray, cornering: np.ndarray, style: Style) -> Plans:
    """Plans by their distances from the middle, and what they plan with in bends.

    Args:
        middle: `[P, 2]`.
        knots: metres to the left, every `KNOT` zones, `[K, N]`; the last one holds from there on.
        cornering: m/s2, likewise.
    """
    places = np.arange(len(middle))
    at = KNOT * np.arange(knots.shape[1])
    aside, grip = (_smooth(np.stack([np.interp(places, at, row) for row in rows])) for rows in (knots, cornering))
    along = np.gradient(middle, axis=0)
    across = np.stack([-along[:, 1], along[:, 0]], axis=1) / np.maximum(np.hypot(*along.T), 1e-9)[:, None]
    line = middle + aside[..., None] * across
    steps = np.diff(line, axis=1)
    lengths = np.maximum(np.hypot(steps[..., 0], steps[..., 1]), 1e-6)
    heading = np.unwrap(np.arctan2(steps[..., 1], steps[..., 0]), axis=1)
    curvature = np.abs(_mean_of(np.gradient(heading, axis=1) / lengths, 11))
    speed = np.sqrt(grip[:, :-1] / np.maximum(curvature, 1e-4))
    speed = np.concatenate([speed, np.full((len(speed), 1), 100.0)], axis=1)
    for k in range(len(middle) - 2, -1, -1):  # brake in time
        speed[:, k] = np.minimum(speed[:, k], np.sqrt(speed[:, k + 1] ** 2 + 2 * style.braking * lengths[:, k]))
    return Plans(line, speed)


def least_bent(middle: np.ndarray, room: float) -> np.ndarray:
    """How far left of each point `[N, 2]` a line runs that bends little, within `room` of them, `[N]`."""
    places, aside, room = np.arange(len(middle)), np.zeros(len(middle)), max(room, 0.0)
    for every in (8, 4, 2, 1):  # long waves first: of short ones it would take very long
        chosen = places[::every]
        if len(chosen) < 6:
            continue
        points = middle[chosen]
        along = np.gradient(points, axis=0)
        normal = np.stack([-along[:, 1], along[:, 0]], axis=1) / np.hypot(*along.T)[:, None]
        moved = aside[chosen]
        for _ in range(SWEEPS):
            line = points + moved[:, None] * normal
            pull = np.zeros_like(line)
            pull[2:-2] = (4 * (line[1:-3] + line[3:-1]) - line[:-4] - line[4:]) / 6 - line[2:-2]
            moved = np.clip(moved + RELAXED * (pull * normal).sum(axis=1), -room, room)
        aside = np.interp(places, chosen, moved)
    return aside


def _smooth(rows: np.ndarray) -> np.ndarray:
    return _mean_of(_mean_of(rows, KNOT + 1), KNOT + 1)


def _mean_of(rows: np.ndarray, width: int) -> np.ndarray:
    """Means over `width` (odd) neighbours in each row."""
    half = width // 2
    padded = np.pad(rows, ((0, 0), (half + 1, half)), mode="edge")
    sums = np.cumsum(padded, axis=1)
    return (sums[:, width:] - sums[:, :-width]) / width


def _stacked(rows: list[np.ndarray], length: int) -> np.ndarray:
    """Rows of different lengths, the shorter ones continued by their last entry."""
    return np.stack([np.concatenate([row, np.repeat(row[-1:], length - len(row), axis=0)]) for row in rows])
