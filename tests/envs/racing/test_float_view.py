"""The float view has Linesight's layout."""

import numpy as np
import pytest

from envs.racing.batch import BatchedRaces
from envs.racing.kernel.floats import scaling_of
from envs.racing.state import INPUTS
from scripted_driver import Driver

OPTIONS = {"map_cycle": ["seed:3"], "metres": 300.0, "normalise": False}


def driven(steps=60, **options):
    made = BatchedRaces(1, seed=1, **{**OPTIONS, **options})
    made.reset()
    driver, actions = Driver(made), []
    for _ in range(steps):
        actions.append(driver.actions())
        made.step(actions[-1])
    return made, np.array(actions)[:, 0]


def in_the_frame_of(car, x, y):
    dx, dy = x - car["x"], y - car["y"]
    heading = np.arctan2(car["sin"], car["cos"])
    forward = np.cos(heading) * dx + np.sin(heading) * dy
    return [-np.sin(heading) * dx + np.cos(heading) * dy, 0.0, forward]


def test_every_number_of_the_layout():
    made, actions = driven()
    view, car = made.outputs.floats[0, 0], made.state.cars[0, 0]
    assert view.shape == (184,)
    assert view[0] == 0
    expected = [INPUTS[action] for action in actions[-5:, 0]]
    assert view[1:21].reshape(5, 4).tolist() == [list(map(float, one)) for one in expected]
    np.testing.assert_equal(view[21:53], made.outputs.wheels[0, 0])
    assert view[53:56] == pytest.approx([0, car["yaw"], 0])
    assert view[56:59] == pytest.approx([car["left"], 0, car["forward"]])
    assert view[59:62].tolist() == [0, 1, 0]
    points = made.tracks.points
    for k in range(40):
        point = points[min(car["zone"] + 20 * k, len(points) - 1)]
        assert view[62 + 3 * k : 65 + 3 * k] == pytest.approx(in_the_frame_of(car, point["x"], point["y"]), abs=1e-3)
    assert view[182] == pytest.approx(made.tracks.tracks[0]["metres"] - car["metres"], abs=1e-3)
    assert view[183] == 0


def test_wheels_and_gears():
    made, _ = driven()
    car, wheels = made.state.cars[0, 0], made.outputs.wheels[0, 0]
    assert wheels[:4].tolist() == car["slides"].tolist()
    assert wheels[4:12].tolist() == [1, 1, 1, 1, 0, 0, 0, 0]
    assert wheels[12:16] == pytest.approx([float(car["shifting"] > 0), car["gear"], car["rpm"], car["changes"]])
    assert wheels[16:].reshape(4, 4).tolist() == [[1, 0, 0, 0]] * 4
    grass, _ = driven(walls=False)
    grass.state.cars["y"] += 100
    grass.step(np.zeros((1, 1), dtype=int))
    assert grass.outputs.wheels[0, 0, 16:].reshape(4, 4).tolist() == [[0, 1, 0, 0]] * 4


def test_before_the_race_no_action_was_done():
    made, actions = driven(2)
    assert not made.outputs.floats[0, 0, 1:13].any()
    assert made.outputs.floats[0, 0, 13:21].reshape(2, 4).tolist() == [list(INPUTS[a]) for a in actions[:, 0]]


def test_the_finish_is_announced_from_700_metres_on():
    made, _ = driven(1, metres=1000.0)
    assert made.outputs.floats[0, 0, 182] == 700


def test_other_cars_nearest_first():
    made, _ = driven(20, n_cars=5)
    cars, views = made.state.cars[0], made.outputs.floats[0]
    assert views.shape == (5, 184 + 12)
    for i, car in enumerate(cars):
        others = [k for k in range(5) if k != i]
        others.sort(key=lambda k: np.hypot(cars["x"][k] - car["x"], cars["y"][k] - car["y"]))
        for k, other in enumerate(others[:3]):
            left, _, forward = in_the_frame_of(car, cars["x"][other], cars["y"][other])
            heading = np.arctan2(*(cars[key][other] for key in ("sin", "cos"))) - np.arctan2(car["sin"], car["cos"])
            turn = np.array([[np.cos(heading), np.sin(heading)], [-np.sin(heading), np.cos(heading)]])
            speed = turn @ [cars["left"][other], cars["forward"][other]] - [car["left"], car["forward"]]
            assert views[i, 184 + 4 * k : 188 + 4 * k] == pytest.approx([left, forward, *speed], abs=1e-4)


def test_a_normalised_view_is_the_plain_one_scaled():
    plain, scaled = (driven(normalise=on)[0].outputs.floats[0, 0] for on in (False, True))
    mean, deviation = scaling_of(40, 20, 0)
    assert scaled == pytest.approx((plain - mean) / deviation, abs=1e-5)
    assert (mean[0], deviation[0]) == (0, 1), "the time of mini-races is written later, as it is"
    assert np.abs(scaled).max() < 6


def test_fewer_zones_make_a_shorter_view():
    plain, short = (
        driven(**options)[0].outputs.floats[0, 0] for options in ({}, {"zones_ahead": 10, "zones_every": 40})
    )
    assert short.shape == (94,)
    np.testing.assert_equal(short[:62], plain[:62])
    np.testing.assert_equal(short[62:92].reshape(10, 3), plain[62:182].reshape(40, 3)[:20:2])
    np.testing.assert_equal(short[92:], plain[182:])
