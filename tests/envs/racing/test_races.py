"""Races: rewards, ends, times, maps, and the same race from the same inputs."""

import numpy as np
import pytest

from envs.racing.batch import BatchedRaces
from envs.racing.environment import RacingBatch, RacingEnv
from envs.racing.state import INPUTS
from scripted_driver import Driver

SHORT = {"metres": 120.0, "map_cycle": ["seed:3"]}
FORWARD, NOTHING = INPUTS.index((1, 0, 0, 0)), INPUTS.index((0, 0, 0, 0))


def act(env, action):
    return env.step({"actions": np.full(env.options.n_cars, action)})


def drive(races, steps=2000):
    """Drives a race to its end; returns the actions, and all outputs of each step."""
    driver, course, actions = Driver(races), [], []
    races.reset()
    for _ in range(steps):
        actions.append(driver.actions())
        out = races.step(actions[-1])
        course.append({name: array.copy() for name, array in out._asdict().items()})
        if races.state.race["ended"].all():
            break
    return np.array(actions), course


def test_the_driver_finishes_and_the_time_is_that_of_the_ticks():
    races = BatchedRaces(1, seed=1, **SHORT)
    _, course = drive(races)
    car = races.state.cars[0, 0]
    assert course[-1]["terminated"][0] and not course[-1]["truncated"][0]
    assert 4000 < car["race_ms"] < 20_000
    assert 50 * (len(course) - 1) < car["race_ms"] <= 50 * len(course)
    track = races.tracks.tracks[0]
    assert (car["zone"], car["metres"]) == (track["finish"], track["metres"])


def test_rewards_are_those_of_milliseconds_and_metres():
    """The last step of a finished race counts the milliseconds that it took (facts, 2.4)."""
    races = BatchedRaces(1, seed=1, **SHORT)
    _, course = drive(races)
    metres = np.concatenate([[0.0], [float(out["metres"][0, 0]) for out in course]])
    begun = races.state.cars[0, 0]["begun"]
    metres[0] = begun
    remainder = int(races.state.cars[0, 0]["race_ms"]) - 50 * (len(course) - 1)
    assert 0 < remainder <= 50
    lasted = [50] * (len(course) - 1) + [remainder]
    expected = -6 / 5000 * np.array(lasted) + 5 / 500 * np.diff(metres)
    assert [out["reward"][0, 0] for out in course] == pytest.approx(expected, abs=1e-6)


def test_a_car_that_stands_is_cut_off_after_two_seconds():
    env = RacingEnv(seed=1, **SHORT)
    env.reset()
    ends = [act(env, NOTHING)[1:] for _ in range(40)]
    assert [end[:2] for end in ends] == [(False, False)] * 39 + [(False, True)]
    info = ends[-1][2]
    assert info["race_finished"] == 0 and "race_time" not in info
    assert info["end_race_stats"] == {"race_finished": False, "race_time": 2000, "race_time_for_ratio": 2000}
    assert ends[0][2] == {"map": "track_3"}


def test_a_new_furthest_zone_gives_two_more_seconds():
    env = RacingEnv(seed=1, cut_off_seconds=0.5, **SHORT)
    env.reset()
    cars, steps = env.batch.simulator.state.cars, 0
    while steps < 12 or cars["idle_ms"][0, 0]:
        assert act(env, FORWARD)[1:3] == (False, False)
        steps += 1
    cars["forward"], furthest = 0.0, cars["furthest"].copy()
    cars["cos"], cars["sin"] = -cars["cos"], -cars["sin"]  # back where it came from
    ends = [act(env, FORWARD)[2] for _ in range(10)]
    assert ends == [False] * 9 + [True]
    assert (cars["furthest"] == furthest).all() and cars["zone"][0, 0] <= furthest[0, 0]


def test_an_ended_race_stays_as_it_is():
    races = BatchedRaces(2, seed=1, time_limit=5, **SHORT)
    races.reset()
    for _ in range(5):
        races.step(np.full((2, 1), FORWARD))
    races.reset(np.array([False, True]))
    state = {name: array[0].copy() for name, array in races.outputs._asdict().items()}
    place = races.state.cars[0].copy()
    out = races.step(np.full((2, 1), FORWARD))
    assert (races.state.cars[0] == place).all() and races.state.cars[1, 0]["forward"] > 0
    assert out.reward[0, 0] == 0 and out.reward[1, 0] != 0
    np.testing.assert_equal(out.floats[0], state["floats"])
    assert out.truncated.tolist() == [True, False]


def maps_of(races, episodes):
    found = []
    for _ in range(episodes):
        races.reset()
        found.append([races.map_of(b) for b in range(races.batch_size)])
    return found


def test_the_cycle_is_played_in_its_order_with_repeats_by_all_copies_together():
    cycle = [{"track": "seed:1", "repeat": 2, "name": "easy"}, "seeds:7-8"]
    assert maps_of(BatchedRaces(1, seed=1, metres=60, map_cycle=cycle), 5) == [
        ["easy"], ["easy"], ["track_7"], ["track_8"], ["easy"],
    ]  # fmt: skip
    assert maps_of(BatchedRaces(3, seed=1, metres=60, map_cycle=cycle), 2) == [
        ["easy", "easy", "track_7"],
        ["track_8", "easy", "easy"],
    ]


def test_tests_have_maps_of_their_own_and_start_at_the_start():
    options = {"metres": 60.0, "map_cycle": ["seed:1"], "test_map_cycle": ["seed:2"], "start_anywhere": 1.0}
    train, test = (BatchedRaces(1, seed=1, test_mode=mode, **options) for mode in (False, True))
    assert maps_of(train, 2) + maps_of(test, 2) == [["track_1"], ["track_1"], ["track_2"], ["track_2"]]
    starts = {races.options.test_mode: set() for races in (train, test)}
    for races in (train, test):
        for _ in range(5):
            races.reset()
            starts[races.options.test_mode].add(int(races.state.cars["zone"][0, 0]))
    assert starts[True] == {20} and len(starts[False]) > 2
    assert train.state.race["whole"][0] == 0 and test.state.race["whole"][0] == 1


def test_random_order_draws_from_the_cycle_by_the_seed():
    options = {"metres": 60.0, "map_cycle": ["seeds:1-4"], "map_order": "random"}
    first, again, other = (maps_of(BatchedRaces(1, seed=[seed], **options), 30) for seed in (1, 1, 2))
    assert first == again != other
    assert {name for (name,) in first} == {"track_1", "track_2", "track_3", "track_4"}


def test_figures_of_a_race_that_began_along_the_track_have_no_time():
    races = RacingBatch(1, seed=[1], metres=100.0, start_anywhere=1.0, map_cycle=["seed:1", "seed:2"])
    _, course = drive(races.simulator)
    assert course[-1]["terminated"][0]
    info = races.info(0)
    assert "race_time" not in info and info["track_1/race_finished"] == 1
    assert info["only_of"] == ["race_time", "track_1/race_finished", "track_1/distance"]
    assert 0 < info["distance"] < 99
