"""Races as replays show them (docs/replays.md)."""

from typing import TYPE_CHECKING, Any

import numpy as np

from envs.racing.state import CAR_RADIUS, INPUTS

if TYPE_CHECKING:
    from envs.racing.batch import BatchedRaces

ARROWS = ("", "left", "right")
PEDALS = ("accelerate", "roll", "brake", "both")
ACTION_NAMES = tuple(f"{PEDALS[k // 3]} {ARROWS[k % 3]}".strip() for k in range(len(INPUTS)))
EVERY = 4  # points from one vertex of the drawn track to the next
MARGIN = 5.0  # metres


def scene(races: "BatchedRaces", b: int = 0) -> dict[str, Any]:
    """The track: its bounds and its edges, middle and finish as lines."""
    track = races.tracks.tracks[races.races.race["track"][b]]
    points = races.tracks.points[track["offset"] :][: track["finish"] + 1]
    left, right = (edge(points, side * track["half_width"]) for side in (1, -1))
    both = np.concatenate([left, right])
    bounds = [*(both.min(axis=0) - MARGIN), *(both.max(axis=0) + MARGIN)]
    middle = _thinned(np.stack([points["x"], points["y"]], axis=1)[int(track["start"]) :])
    return {
        "title": races.map_of(b),
        "bounds": [float(x) for x in bounds],
        "road": {
            "left": _thinned(left),
            "right": _thinned(right),
            "middle": middle,
            "finish": [left[-1].round(2).tolist(), right[-1].round(2).tolist()],
        },
    }


def edge(points: np.ndarray, aside: float) -> np.ndarray:
    """A line beside the middle, from the first zone with an axis on, `[P, 2]`."""
    points = points[1:]
    return np.stack([points["x"] - aside * points["axis_y"], points["y"] + aside * points["axis_x"]], axis=1)


def _thinned(line: np.ndarray) -> list[list[float]]:
    chosen = np.concatenate([line[:-1:EVERY], line[-1:]])
    return chosen.round(2).tolist()


def snapshot(races: "BatchedRaces", b: int = 0) -> dict[str, Any]:
    """The cars: where they are and head to, their speed in km/h, gear, zone, metres and time."""
    return {"units": [_drawn(i, car) for i, car in enumerate(races.races.cars[b])]}


def _drawn(i: int, car: np.void) -> dict[str, Any]:
    speed = float(np.hypot(car["forward"], car["left"]))
    return {
        "id": i,
        "agent": i,
        "team": i,
        "kind": "car",
        "label": str(i),
        "x": float(car["x"]),
        "y": float(car["y"]),
        "heading": float(np.arctan2(car["sin"], car["cos"])),
        "radius": CAR_RADIUS,
        "speed": speed,
        "gear": int(car["gear"]),
        "zone": int(car["zone"]),
        "metres": float(car["metres"]),
        "time": int(car["race_ms"]) / 1000,
        "slides": bool(car["slides"].any()),
        "hits": int(car["hits"]),
        "finished": bool(car["finished"]),
    }
