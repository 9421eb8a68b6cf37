"""Races as replays show them (docs/replays.md)."""

from typing import TYPE_CHECKING, Any

import numpy as np

from envs.racing.state import CAR_RADIUS, INPUTS

if TYPE_CHECKING:
    from envs.racing.batch import BatchedRaces

ARROWS = ("", "left", "right")
PEDALS = ("accelerate", "roll", "brake", "both")
ACTION_NAMES = tuple(f"{PEDALS[k // 3]} {ARROWS[k % 3]}".strip() for k in range(len(INPUTS)))
INPUT_NAMES = ("accelerate", "brake", "left", "right")
FASTEST = 50  # m/s of the brightest colour
NEAR = 60  # metres that are seen around a car
EVERY = 4  # points from one vertex of the drawn track to the next
MARGIN = 5.0  # metres


def scene(races: "BatchedRaces", b: int = 0) -> dict[str, Any]:
    """The track, and what the time line shows of it."""
    race = races.state.race[b]
    track = races.tracks.tracks[race["track"]]
    points = races.tracks.points[track["offset"] :][: track["finish"] + 1]
    left, right = (edge(points, side * track["half_width"]) for side in (1, -1))
    both = np.concatenate([left, right])
    bounds = [*(both.min(axis=0) - MARGIN), *(both.max(axis=0) + MARGIN)]
    start = int(track["start"])
    middle = np.stack([points["x"], points["y"]], axis=1)[start:]
    across = {
        name: [left[at].round(2).tolist(), right[at].round(2).tolist()]
        for name, at in (("start", start), ("finish", -1))
    }
    return {
        "title": races.map_of(b),
        "bounds": [float(x) for x in bounds],
        "road": {"left": _thinned(left), "right": _thinned(right), "middle": _thinned(middle), **across},
        "speeds": [0, FASTEST],
        "pace": 1000 / races.options.step_ms,
        "near": NEAR,
        "race": {"track": races.map_of(b), "begin": int(race["begin"]), "first": int(race["first"])},
        "lanes": ["speed", "q"],
        "inputs": {"names": list(INPUT_NAMES), "actions": [list(one) for one in INPUTS]},
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
    return {"units": [_drawn(i, car) for i, car in enumerate(races.state.cars[b])]}


def _drawn(i: int, car: np.void) -> dict[str, Any]:
    speed = float(np.hypot(car["forward"], car["left"]))
    return {
        "id": i,
        "agent": i,
        "team": i,
        "kind": "car",
        "shape": "car",
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
