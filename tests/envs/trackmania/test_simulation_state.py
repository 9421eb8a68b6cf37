"""Simulation states: offsets by hand, and bytes that are no state."""

import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from envs.trackmania.link import GameLost
from envs.trackmania.simulation_state import SimulationState
from trackmania_game.examples import FLAGS_AT, STATES_AT, TIMES_AT, raw_state


def test_the_size_is_that_of_the_facts():
    assert len(raw_state(3, (0, 0, 0))) == 8392
    SimulationState(raw_state(3, (0, 0, 0)))


FIELDS = [
    ("race_time", 7892, "<i", 12_340),
    ("finished", 8032, "<i", 1),
    ("display_speed", 8036, "<i", 321),
    ("checkpoint_count", 8024, "<I", 2),
    ("gearbox", 2388, "<i", 2),
    ("rpm", 3112, "<f", 9000.5),
    ("gear", 3128, "<i", 4),
    ("freewheeling", 3196, "<i", 1),
    ("time", 16, "<i", -50),
]


@pytest.mark.parametrize(("name", "offset", "kind", "value"), FIELDS)
def test_numbers_are_read_at_their_offsets(name, offset, kind, value):
    data = raw_state()
    struct.pack_into(kind, data, offset, value)
    assert SimulationState(data)[name] == value


@pytest.mark.parametrize(
    ("name", "offset", "count"),
    [("rotation", 688, 9), ("position", 724, 3), ("velocity", 736, 3), ("angular_velocity", 760, 3)],
)
def test_vectors_are_read_at_their_offsets(name, offset, count):
    data = raw_state()
    struct.pack_into(f"<{count}f", data, offset, *range(1, count + 1))
    assert np.ravel(SimulationState(data)[name]).tolist() == list(range(1, count + 1))


@pytest.mark.parametrize("wheel", range(4))
@pytest.mark.parametrize(
    ("name", "offset", "kind", "value"),
    [
        ("damper", 3996, "<f", 0.125),
        ("contact", 4108, "<i", 1),
        ("material", 4112, "<i", 16),
        ("sliding", 4116, "<i", 1),
    ],
)
def test_wheels_are_764_bytes_apart(wheel, name, offset, kind, value):
    data = raw_state()
    struct.pack_into(kind, data, offset + 764 * wheel, value)
    expected = [0.0] * 4
    expected[wheel] = value
    assert SimulationState(data)["wheels"][name].tolist() == expected


def test_the_finish_is_undone_in_the_last_time():
    data = raw_state(1, (1000, 2000))
    state = SimulationState(data)
    assert state.checkpoint_times.tolist() == [1000, 2000]
    undone = state.without_finish()
    assert SimulationState(undone).checkpoint_times.tolist() == [1000, -1]
    assert [k for k in range(len(data)) if data[k] != undone[k]] == [*range(len(data) - 8, len(data) - 4)]
    assert SimulationState(raw_state(0, ())).without_finish() is None


@pytest.mark.parametrize("flags", [0x100, 0x1FF, 0xFD, 0xFB, 0xF7, 0x7F, 0])
def test_flags_of_another_layout_are_refused(flags):
    with pytest.raises(GameLost, match=f"flags {flags:#x}"):
        SimulationState(raw_state(flags=flags))


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -1e9])
@pytest.mark.parametrize("offset", [688, 724, 736, 760, 3112, 3996 + 764])
def test_impossible_numbers_are_refused(value, offset):
    data = raw_state()
    struct.pack_into("<f", data, offset, value)
    with pytest.raises(GameLost, match="state has"):
        SimulationState(data)


@given(st.integers(0, 20), st.integers(0, 20), st.integers(-40, 40))
def test_only_the_exact_length_is_a_state(states, times, more):
    data = bytes(raw_state(states, [5] * times))
    data = data[:more] if more < 0 else data + bytes(more)
    if more == 0:
        assert len(SimulationState(data).checkpoint_times) == times
    else:
        with pytest.raises(GameLost):
            SimulationState(data)


@given(st.binary(max_size=9000), st.integers(-(2**31), 2**31 - 1), st.integers(-(2**31), 2**31 - 1))
def test_any_bytes_are_a_state_or_a_lost_game(data, states, times):
    data = bytearray(data)
    if len(data) >= 8356:
        struct.pack_into("<i", data, STATES_AT, states)
        struct.pack_into("<i", data, TIMES_AT, times)
        data[FLAGS_AT : FLAGS_AT + 4] = b"\xff\0\0\0"
    try:
        state = SimulationState(bytes(data))
    except GameLost:
        return
    assert np.isfinite(state["position"]).all()
