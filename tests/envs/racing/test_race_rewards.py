"""The rewards of several cars: their sum, their mean, or each its own; and those that Linesight has."""

import numpy as np
import pytest

from envs.racing.batch import BatchedRaces
from envs.racing.fields import outcomes
from envs.racing.kernel.rewards import engineered, slide_quality
from envs.racing.state import INPUTS
from scripted_driver import Driver
from utils.errors import ConfigError

NOTHING_PAID = {"constant_reward_per_ms": 0.0, "reward_per_m_advanced_along_centerline": 0.0}
SHORT = {"metres": 120.0, "map_cycle": ["seed:3"]}


@pytest.mark.parametrize(
    ("reward", "expected"), [("sum", [6.0, 5.0]), ("mean", [2.0, 5 / 3]), ("each", [[1, 2, 3], [0, 4, 1]])]
)
def test_rewards_of_several_cars(reward, expected):
    races = BatchedRaces(2, seed=1, metres=100.0, n_cars=3, reward=reward)
    races.outputs.reward[:] = [[1, 2, 3], [0, 4, 1]]
    assert np.allclose(outcomes(races.options, races.outputs)["reward"], expected)


# what Linesight's own function (83656d3) returned, by the speeds across and forward
@pytest.mark.parametrize(
    ("left", "forward", "quality"),
    [
        (4.0, 20.0, 0.0),
        (4.5, 30.0, 0.13065326633165839),
        (-6.0, 60.0, 0.6277807921866522),
        (10.0, 120.0, 2.4246575342465753),
        (10.0, 200.0, 29 / 11),
        (5.0, 0.0, 0.25),
        (5.0, -9.0, 0.25),
        (4.6, 45.0, 0.1963589076723016),
    ],
)
def test_the_quality_of_a_slide_is_linesights(left, forward, quality):
    assert slide_quality(left, forward) == pytest.approx(quality)


# its rewards with a weight of 0.25, by those of: forward, left, action, wheels on the ground, metres to the zone
@pytest.mark.parametrize(
    ("step", "speedslide", "neoslide", "kamikaze", "close"),
    [
        ((30.0, 4.5, 3, 4, 4.0), 0.032663, 0.25, 0.0, 1.25),
        ((-2.0, 3.0, 6, 4, 10.0), 0.0, 0.25, 0.0, 2.5),
        ((21.0, -4.1, 9, 1, 30.0), 0.0, 0.25, 0.25, 6.25),
        ((25.0, 0.0, 1, 4, 7.0), 0.0, 0.0, 0.25, 1.75),
    ],
)
def test_engineered_rewards_are_linesights(step, speedslide, neoslide, kamikaze, close):
    found = [engineered(*weights, *step) for weights in 0.25 * np.eye(4)]
    assert found == pytest.approx([speedslide, neoslide, kamikaze, close], abs=1e-6)
    assert engineered(*4 * [0.25], *step) == pytest.approx(speedslide + neoslide + kamikaze + close, abs=1e-6)


def driven(**env_args):
    """The rewards of a race to its finish, and the speeds before each step and after the last."""
    races = BatchedRaces(1, seed=1, **{**SHORT, **NOTHING_PAID, **env_args})
    races.reset()
    driver, rewards, speeds, car = Driver(races), [], [0.0], races.state.cars[0, 0]
    while not car["finished"]:
        rewards.append(float(races.step(driver.actions()).reward[0, 0]))
        speeds.append(float(np.hypot(car["forward"], car["left"])))
    return np.array(rewards), np.array(speeds), races


def test_a_speed_is_paid_where_it_is_gained():
    """Linesight pays the difference in each step but the last one; Muster the speed at the finish."""
    rewards, speeds, races = driven(final_speed_reward_per_m_per_s=0.5, final_speed="gain")
    assert rewards == pytest.approx(np.append(0.5 * np.diff(speeds)[:-1], 0.0))
    rewards, _, races = driven(final_speed_reward_per_m_per_s=0.5)
    assert rewards[:-1].tolist() == [0.0] * (len(rewards) - 1)
    assert rewards[-1] == pytest.approx(0.5 * races.state.cars[0, 0]["forward"])


def test_a_style_is_paid_in_all_steps_but_the_last():
    rewards, *_ = driven(engineered_close_to_vcp_reward=0.25)
    assert rewards.tolist() == [1.25] * (len(rewards) - 1) + [0.0]
    rewards, *_ = driven(engineered_kamikaze_reward=0.25)
    assert set(rewards[:-1]) == {0.0, 0.25} and rewards[-1] == 0.0
    races = BatchedRaces(1, seed=1, **SHORT, **NOTHING_PAID, engineered_close_to_vcp_reward=0.25)
    races.reset()
    nothing = np.full((1, 1), INPUTS.index((0, 0, 0, 0)))
    rewards = [float(races.step(nothing).reward[0, 0]) for _ in range(40)]
    assert rewards == [1.25] * 39 + [0.0] and races.outputs.truncated[0]


def test_a_race_is_where_the_rules_of_its_line_say():
    *_, races = driven(finish_entry="beyond")
    *_, plain = driven()
    track, car, other = races.tracks.tracks[0], races.state.cars[0, 0], plain.state.cars[0, 0]
    assert (car["zone"], car["metres"]) == (track["finish"] + 1, track["metres"])
    assert car["metres"] == pytest.approx(other["metres"] + 0.75, abs=0.01)
    assert car["race_ms"] == other["race_ms"]


@pytest.mark.parametrize(("zone_back", "zone"), [("reach", 59), ("nearer", 1)])
def test_a_car_far_off_is_where_the_rules_of_zones_say(zone_back, zone, tmp_path):
    """60 m beside the line, and 10 m before its start: Linesight leaves it in its zone."""
    way = np.arange(0, 100, 0.5)
    np.save(tmp_path / "straight.npy", np.stack([way, 0 * way], axis=1))
    cycle = [str(tmp_path / "straight.npy")]
    races = BatchedRaces(1, seed=1, map_cycle=cycle, walls=False, zone_back=zone_back, line_ends="step")
    races.reset()
    car = races.state.cars[0, 0]
    car["zone"], car["x"], car["y"] = 59, -10.0, 60.0
    races.step(np.full((1, 1), INPUTS.index((0, 0, 0, 0))))
    assert car["zone"] == zone
    assert races.options.line_rules == ("step", "line")


def test_the_potential_may_look_along_the_track():
    races = BatchedRaces(1, seed=1, **SHORT, shaped_reward_point_to_vcp_ahead=0.5)
    races.reset()
    for _ in range(20):
        races.step(np.full((1, 1), INPUTS.index((1, 0, 1, 0))))
    car = races.state.cars[0, 0]
    track = races.tracks.tracks[0]
    points = races.tracks.points[track["offset"] :]
    ahead = np.array([points[car["zone"] + 20][key] - points[car["zone"]][key] for key in "xy"])
    cosine = ahead @ [car["cos"], car["sin"]] / np.hypot(*ahead)
    centre = points[car["zone"]]
    distance = np.clip(np.hypot(centre["x"] - car["x"], centre["y"] - car["y"]), 2, 25)
    assert races.outputs.potential[0, 0] == pytest.approx(-0.1 * distance + 0.5 * (cosine - 1))
    assert cosine < 0.99


@pytest.mark.parametrize("key", ["zone_back", "line_ends", "finish_entry", "final_speed"])
def test_other_rules_are_refused(key):
    with pytest.raises(ConfigError, match=rf"env_args.{key} is 'other'\. Allowed: \w+, \w+\."):
        BatchedRaces(1, **{key: "other"})
