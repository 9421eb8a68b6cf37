"""The 184 numbers of a fixed state against a table made by hand, and grey pictures."""

import struct

import numpy as np
import pytest

from envs.trackmania.float_view import floats_of, grey_of, scaling, wheels_of
from envs.trackmania.line import ReferenceLine
from envs.trackmania.simulation_state import SimulationState
from trackmania_game.examples import raw_state, straight_line

# the car looks along the world's third axis reversed: its left is the first axis reversed
ROTATION = (-1, 0, 0, 0, 1, 0, 0, 0, -1)
ZONE = 60


@pytest.fixture
def state():
    data = raw_state()
    struct.pack_into("<9f", data, 688, *ROTATION)
    struct.pack_into("<3f", data, 724, 30.0, 12.0, 5.5)
    struct.pack_into("<3f", data, 736, 20.0, -1.0, 3.0)
    struct.pack_into("<3f", data, 760, 0.1, 0.2, 0.3)
    struct.pack_into("<i", data, 2388, 1)
    struct.pack_into("<f", data, 3112, 8000.0)
    struct.pack_into("<i", data, 3128, 3)
    struct.pack_into("<i", data, 3196, 1)
    wheels = [(0.011, 1, 0x10010, 0), (0.012, 1, 2, 1), (0.013, 0, 17, 0), (0.014, 1, 29, 1)]
    for wheel, (damper, contact, material, sliding) in enumerate(wheels):
        struct.pack_into("<f3i", data, 3996 + 764 * wheel, damper, 0, 0, 0)
        struct.pack_into("<3i", data, 4108 + 764 * wheel, contact, material, sliding)
    return SimulationState(data)


def expected():
    """By hand: what stands where, in the order of the description."""
    values = [0.0]
    forward, brake_left = [1, 0, 0, 0], [0, 1, 1, 0]
    values += forward * 3 + brake_left + [0, 0, 0, 1]  # actions 0, 0, 0, 7, 5
    values += [0, 1, 0, 1, *(1, 1, 0, 1), *(0.011, 0.012, 0.013, 0.014)]
    values += [1, 3, 8000, 6]
    values += [*(1, 0, 0, 0), *(0, 1, 0, 0), *(0, 0, 1, 0), *(0, 0, 0, 0)]
    values += [*(-0.1, 0.2, -0.3), *(-20, -1, -3), *(0, 1, 0)]
    for k in range(40):  # zone 60 of a straight line is 20 m from the start at x = 10
        values += [-(30 + 10.0 * k - 30), 10.0 - 12.0, -(5.0 - 5.5)]
    return np.array([*values, 123.0, 1])


def test_every_number_is_that_of_the_table(state):
    line = ReferenceLine(straight_line(400))
    wheels = wheels_of(state, 6)
    floats = floats_of(state, wheels, [7, 5], line, ZONE, line.end - 123.0)
    assert floats.dtype == np.float32 and floats.shape == (184,)
    assert floats == pytest.approx(expected(), abs=1e-4)
    assert wheels == pytest.approx(expected()[21:53], abs=1e-6)


def test_only_the_last_five_actions_and_at_most_700_metres_are_seen(state):
    line = ReferenceLine(straight_line(1000))
    floats = floats_of(state, wheels_of(state, 0), [9, 1, 2, 3, 6, 7], line, ZONE, 20.0)
    assert floats[1:21].tolist() == [*(1, 0, 1, 0), *(1, 0, 0, 1), *(0, 0, 0, 0), *(0, 1, 0, 0), *(0, 1, 1, 0)]
    assert floats[182] == 700


def test_rotations_are_transposed(state):
    data = bytearray(state.data)
    struct.pack_into("<9f", data, 688, 0, 0, 1, 1, 0, 0, 0, 1, 0)  # left is (0, 1, 0), up (0, 0, 1), forward (1, 0, 0)
    line = ReferenceLine(straight_line(400))
    floats = floats_of(SimulationState(data), wheels_of(state, 0), [], line, ZONE, 0.0)
    assert floats[56:62].tolist() == [*(-1, 3, 20), *(1, 0, 0)]


def test_the_scaling_leaves_the_time_and_is_never_zero():
    mean, deviation = scaling()
    assert (mean[0], deviation[0]) == (0, 1)
    assert mean.shape == deviation.shape == (184,) and (deviation > 0).all()
    assert (mean[35], deviation[35]) == (5000, 3000)  # rpm


def test_a_frame_becomes_grey():
    pixels = np.zeros((2, 3, 4), np.uint8)
    pixels[0, 0], pixels[0, 1], pixels[0, 2] = (255, 0, 0, 255), (0, 255, 0, 0), (0, 0, 255, 9)
    pixels[1, 0], pixels[1, 1] = (255, 255, 255, 0), (10, 20, 30, 40)
    grey = grey_of(pixels.tobytes(), 2, 3)
    assert grey.shape == (2, 3, 1) and grey.dtype == np.uint8
    # 0.114 blue + 0.587 green + 0.299 red
    assert grey[..., 0].tolist() == [[29, 150, 76], [255, 22, 0]]
