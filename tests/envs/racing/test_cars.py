"""What cars do: walls, grass, gears, contact, and that several are there."""

import numpy as np
import pytest

from envs.racing.batch import BatchedRaces
from envs.racing.environment import RacingEnv
from envs.racing.state import CAR_RADIUS, INPUTS

FORWARD, ROLL, BRAKE = (INPUTS.index(pedals) for pedals in ((1, 0, 0, 0), (0, 0, 0, 0), (0, 1, 0, 0)))
LEFT, RIGHT = INPUTS.index((1, 0, 1, 0)), INPUTS.index((1, 0, 0, 1))
LONG = {"map_cycle": ["seed:3"], "metres": 300.0}


def races(**options):
    made = BatchedRaces(1, seed=1, **{**LONG, **options})
    made.reset()
    return made


def drive(made, action, steps=1):
    for _ in range(steps):
        made.step(np.full((1, made.options.n_cars), action))
    return made.state.cars[0]


def energy(cars):
    return float((cars["forward"] ** 2 + cars["left"] ** 2).sum())


def across(made, car):
    point = made.tracks.points[car["near"]]
    return (car["y"] - point["y"]) * point["axis_x"] - (car["x"] - point["x"]) * point["axis_y"]


def test_steering_left_turns_counter_clockwise():
    made = races()
    drive(made, FORWARD, 10)
    assert drive(made, LEFT, 5)[0]["yaw"] > 0.3
    assert drive(made, RIGHT, 10)[0]["yaw"] < -0.3


def test_pedals():
    made = races()
    fast = drive(made, FORWARD, 20)[0]["forward"]
    rolled = drive(made, ROLL, 4)[0]["forward"]
    braked = drive(made, BRAKE, 4)[0]["forward"]
    assert fast > 5 > 0.9 * fast - rolled
    assert fast - rolled < 1 < rolled - braked
    assert -8.5 < drive(made, BRAKE, 60)[0]["forward"] < -3, "it reverses, and no faster than that"


def test_gears_change_with_the_speed_and_cost_time():
    made, plain = races(), races(gears=0)
    gears = [int(drive(made, FORWARD)[0]["gear"]) for _ in range(45)]
    assert sorted(gears) == gears and gears[0] == 1 and gears[-1] >= 2
    assert made.state.cars["changes"][0, 0] == gears[-1] - 1
    drive(plain, FORWARD, 45)
    assert plain.state.cars["gear"][0, 0] == 1
    assert plain.state.cars["metres"][0, 0] > made.state.cars["metres"][0, 0]


@pytest.mark.parametrize("turn", [LEFT, RIGHT])
def test_a_wall_keeps_the_car_on_the_road_and_takes_speed(turn):
    made = races()
    drive(made, FORWARD, 20)
    before, hit = 0.0, False
    for _ in range(60):
        car = drive(made, turn)[0]
        assert abs(across(made, car)) <= 8.0 - CAR_RADIUS + 0.35
        hit |= car["hits"] > 0
        if car["hits"] and not before:
            before = energy(made.state.cars)
    assert hit


def test_a_bounce_loses_energy_and_goes_back():
    made = races()
    car = made.state.cars[0]
    point = made.tracks.points[20]
    car["x"] -= point["axis_y"] * 6.98  # 2 cm from the left wall
    car["y"] += point["axis_x"] * 6.98
    car["left"], car["forward"] = 10.0, 20.0
    outputs = [energy(car), energy(drive(made, ROLL))]
    assert made.state.cars["hits"][0, 0] >= 1
    assert outputs[1] < outputs[0] - 90
    assert abs(across(made, made.state.cars[0, 0])) <= 7.0 + 1e-9


def test_without_walls_grass_slows():
    made = races(walls=False)
    car = made.state.cars[0]
    car["left"] = 0.0
    point = made.tracks.points[20]
    car["x"] -= point["axis_y"] * 20.0
    car["y"] += point["axis_x"] * 20.0
    car["forward"] = 20.0
    assert drive(made, ROLL, 20)[0]["off"].tolist() == [1, 1, 1, 1]
    on_grass = made.state.cars["forward"][0, 0]
    road = races(walls=False)
    road.state.cars["forward"] = 20.0
    assert drive(road, ROLL, 20)[0]["off"].tolist() == [0, 0, 0, 0]
    assert on_grass < road.state.cars["forward"][0, 0] - 3


def test_grass_holds_less_than_half():
    turned = []
    for aside in (0.0, 20.0):
        made = races(walls=False)
        car, point = made.state.cars[0], made.tracks.points[20]
        car["x"] -= point["axis_y"] * aside
        car["y"] += point["axis_x"] * aside
        car["forward"] = 20.0
        turned.append(drive(made, LEFT, 6)[0]["yaw"])
    assert 0.1 < turned[1] < 0.7 * turned[0]


def side_by_side(**options):
    made = races(n_cars=2, **options)
    cars = made.state.cars[0]
    for key in ("x", "y", "near", "zone", "furthest", "metres"):
        cars[key][1] = cars[key][0]
    cars["x"][1] += 2.5 * CAR_RADIUS * cars["cos"][0]
    cars["y"][1] += 2.5 * CAR_RADIUS * cars["sin"][0]
    cars["forward"] = [15.0, 2.0]
    return made


def test_cars_bounce_off_each_other_and_keep_their_momentum():
    made = side_by_side()
    before = made.state.cars[0]["forward"].sum()
    cars = drive(made, ROLL, 2)
    assert cars["forward"][1] > 8 > cars["forward"][0]
    assert cars["forward"].sum() == pytest.approx(before, abs=0.4)  # rolling loses a little
    assert np.hypot(cars["x"][1] - cars["x"][0], cars["y"][1] - cars["y"][0]) >= 2 * CAR_RADIUS - 1e-6


def test_without_contact_they_pass_through():
    cars = drive(side_by_side(contact=False), ROLL, 10)
    assert cars["forward"] == pytest.approx([15.0, 2.0], abs=1.5)
    assert not cars["hits"].any()


def test_the_grid_has_a_place_for_each_car_and_its_order_changes():
    made, firsts = races(n_cars=5), set()
    for _ in range(10):
        made.reset()
        cars = made.state.cars[0]
        places = np.stack([cars["x"], cars["y"]], axis=1)
        distances = np.hypot(*(places[:, None] - places[None]).transpose(2, 0, 1)) + 10 * np.eye(5)
        assert distances.min() > 2 * CAR_RADIUS
        firsts.add(int(cars["metres"].argmax()))
    assert len(firsts) > 2


def test_a_car_that_is_out_is_not_present_and_the_others_drive_on():
    env = RacingEnv(seed=1, n_cars=2, reward="each", cut_off_seconds=1.0, **LONG)
    env.reset()
    outcomes = []
    for t in range(25):
        values, terminated, truncated, _ = env.step({"actions": np.array([ROLL, FORWARD])})
        seen = env.observe()
        outcomes.append({path: np.array(value) for path, value in values.items()})
        assert not terminated and not truncated
        assert seen["present"].tolist() == [t < 19, True]
        assert seen["avail_actions"].sum(axis=1).tolist() == ([12, 12] if t < 20 else [1, 12])
        assert seen["obs"][0].any() == (t < 20), "it sees where its race ended"
    assert [bool(values["agents/truncated"][0]) for values in outcomes] == [t == 19 for t in range(25)]
    assert [values["reward"][0] != 0 for values in outcomes] == [t < 20 for t in range(25)]
