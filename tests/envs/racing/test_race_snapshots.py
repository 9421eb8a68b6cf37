"""Snapshots and scenes of races, against the cars and the track."""

import numpy as np
import pytest

from envs.racing.batch import BatchedRaces
from envs.racing.snapshots import ACTION_NAMES, MARGIN, scene, snapshot
from envs.racing.state import INPUTS

LEAST = {"x": 1.5, "y": -2.5, "cos": 0.8, "sin": -0.6, "forward": 3.0, "left": -4.0, "gear": 3, "zone": 44}
OTHER = {"metres": 12.25, "race_ms": 1230, "hits": 2, "finished": 1}


def races_of_two():
    races = BatchedRaces(2, seed=1, metres=100.0, map_cycle=["seeds:5-6"], n_cars=2, step_ms=40)
    races.reset()
    return races


def test_a_car_is_drawn_as_it_is():
    races = races_of_two()
    for key, value in (LEAST | OTHER).items():
        races.state.cars[key][1, 1] = value
    races.state.cars["slides"][1, 1] = [0, 0, 1, 0]
    first, second = snapshot(races, 1)["units"]
    assert second == {
        "id": 1,
        "agent": 1,
        "team": 1,
        "kind": "car",
        "shape": "car",
        "label": "1",
        "x": 1.5,
        "y": -2.5,
        "heading": pytest.approx(np.arcsin(-0.6)),
        "radius": 1.0,
        "speed": 5.0,
        "gear": 3,
        "zone": 44,
        "metres": 12.25,
        "time": 1.23,
        "slides": True,
        "hits": 2,
        "finished": True,
    }
    assert (first["id"], first["finished"], first["slides"], first["time"]) == (0, False, False, 0.0)
    assert snapshot(races)["units"] != snapshot(races, 1)["units"]


@pytest.mark.parametrize("b", [0, 1])
def test_the_road_is_the_tracks(b):
    races = races_of_two()
    found, track = scene(races, b), races.tracks.tracks[races.state.race["track"][b]]
    points = races.tracks.points[track["offset"] :][: track["count"]]
    start, finish, half = int(track["start"]), int(track["finish"]), float(track["half_width"])
    middle = np.stack([points["x"], points["y"]], axis=1)
    road = {key: np.array(line) for key, line in found["road"].items()}
    assert np.allclose(road["middle"][[0, -1]], middle[[start, finish]], atol=0.006)
    assert np.allclose(road["middle"][3], middle[start + 12], atol=0.006)
    for side, sign in (("left", 1), ("right", -1)):
        # the axis turned to the left by 90 degrees
        aside = middle + sign * half * np.stack([-points["axis_y"], points["axis_x"]], axis=1)
        assert np.allclose(road[side][[0, -1]], aside[[1, finish]], atol=0.006)
        assert len(road[side]) == len(range(1, finish, 4)) + 1
        for name, zone in (("start", start + 1), ("finish", finish)):
            assert np.abs(road[name] - aside[zone]).sum(axis=1).min() < 0.02
    drawn = np.concatenate([road["left"], road["right"]])
    bounds = np.array(found["bounds"]).reshape(2, 2)
    assert (bounds[0] <= drawn.min(axis=0) - MARGIN + 0.01).all() and (bounds[0] > drawn.min(axis=0) - 2 * MARGIN).all()
    assert (bounds[1] >= drawn.max(axis=0) + MARGIN - 0.01).all() and (bounds[1] < drawn.max(axis=0) + 2 * MARGIN).all()
    assert (found["title"], found["pace"]) == (f"track_{5 + b}", 25)
    assert found["race"] == {"track": f"track_{5 + b}", "begin": start, "first": int(races.state.race["first"][b])}


def test_actions_are_named_by_what_they_press():
    pedals = {(1, 0): "accelerate", (0, 0): "roll", (0, 1): "brake", (1, 1): "both"}
    arrows = {(0, 0): "", (1, 0): " left", (0, 1): " right"}
    assert list(ACTION_NAMES) == [pedals[one[:2]] + arrows[one[2:]] for one in INPUTS]
    assert scene(races_of_two())["inputs"]["actions"] == [list(one) for one in INPUTS]
