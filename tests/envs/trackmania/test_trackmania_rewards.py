"""What a step of the game's races pays, and its potential, by Linesight's numbers."""

import struct

import numpy as np
import pytest

from envs.trackmania.line import ReferenceLine
from envs.trackmania.options import Options
from envs.trackmania.rewards import potential_of, reward_of, standing
from envs.trackmania.simulation_state import SimulationState
from trackmania_game.examples import raw_state, straight_line

NOTHING_PAID = {"constant_reward_per_ms": 0.0, "reward_per_m_advanced_along_centerline": 0.0}
# left, up, forward; wheels on the ground; metres to the zone
COURSE = [((0, 0, 10), 4, 3), ((4.5, 0, 30), 4, 5), ((3, 0, -2), 4, 10), ((-4.1, 1, 21), 1, 30), ((0, 0, 25), 4, 7)]
ACTIONS = [3, 6, 9, 1]


def state_with(velocity, contacts, rotation=(1, 0, 0, 0, 1, 0, 0, 0, 1)):
    data = raw_state()
    struct.pack_into("<9f", data, 688, *rotation)
    struct.pack_into("<3f", data, 736, *(np.reshape(rotation, (3, 3)) @ velocity))
    for wheel in range(4):
        struct.pack_into("<i", data, 4108 + 764 * wheel, wheel < contacts)
    return SimulationState(data)


def paid(end="", **weights):
    """The rewards of the course, which goes on, or has an `end`."""
    turned = (0, 0, 1, 1, 0, 0, 0, 1, 0)
    options = Options(**NOTHING_PAID, **weights)
    stands = [standing(state_with(v, on, turned), 50 * k, 0.0, far) for k, (v, on, far) in enumerate(COURSE)]
    ends = [False] * 3 + [bool(end)]
    return [
        reward_of(options, before, now, action, over and end == "finish", over)
        for before, now, action, over in zip(stands[:-1], stands[1:], ACTIONS, ends, strict=True)
    ]


def test_gains_of_speed_are_linesights():
    """Its function (83656d3) gave 10.167811, 0, 8.90715, 1.790074 of an unfinished course, and nothing at ends."""
    gained = paid(final_speed_reward_per_m_per_s=0.5, final_speed="gain")
    assert gained == pytest.approx([10.167811, 0.0, 8.90715, 1.790074], abs=1e-5)
    for end in ("finish", "cut"):
        gained = paid(end, final_speed_reward_per_m_per_s=0.5, final_speed="gain")
        assert gained == pytest.approx([10.167811, 0.0, 8.90715, 0.0], abs=1e-5)
    assert paid("finish", final_speed_reward_per_m_per_s=0.5) == pytest.approx([0, 0, 0, 12.5])
    assert paid("cut", final_speed_reward_per_m_per_s=0.5) == [0, 0, 0, 0]


@pytest.mark.parametrize(
    ("reward", "expected"),
    [
        ("speedslide", [0.032663, 0.0, 0.0, 0.0]),
        ("neoslide", [0.25, 0.25, 0.25, 0.0]),
        ("kamikaze", [0.0, 0.0, 0.25, 0.25]),
        ("close_to_vcp", [1.25, 2.5, 6.25, 1.75]),
    ],
)
def test_engineered_rewards_are_linesights(reward, expected):
    key = f"engineered_{reward}_reward"
    assert paid(**{key: 0.25}) == pytest.approx(expected, abs=1e-6)
    assert paid("cut", **{key: 0.25}) == pytest.approx([*expected[:3], 0.0], abs=1e-6)


def test_the_potential_looks_along_the_line():
    """3 m to the left and 4 m ahead are 5 m; the direction's cosine is 0.8 (Linesight: -0.5 + 0.5 (0.8 - 1))."""
    line = ReferenceLine(straight_line(400))
    turned = (0.6, 0, 0.8, 0, 1, 0, -0.8, 0, 0.6)  # forward is (0.8, 0, 0.6); the line goes along x
    state = state_with((0, 0, 1), 4, turned)
    assert potential_of(Options(), state, line, 60, 5.0) == pytest.approx(-0.5)
    options = Options(shaped_reward_point_to_vcp_ahead=0.5)
    assert potential_of(options, state, line, 60, 5.0) == pytest.approx(-0.5 + 0.5 * (0.8 - 1), abs=1e-6)
