"""The decay of exploration."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from components.epsilon_schedules import DecayThenFlatSchedule


def test_linear():
    schedule = DecayThenFlatSchedule(1.0, 0.05, 50000, decay="linear")
    assert schedule.eval(0) == 1.0
    assert schedule.eval(25000) == pytest.approx(0.525)
    assert schedule.eval(50000) == pytest.approx(0.05)
    assert schedule.eval(10**7) == 0.05
    assert DecayThenFlatSchedule(0.8, 0.2, 100, decay="linear").eval(25) == pytest.approx(0.65)


def test_exp():
    """exp(T ln(finish) / time): halfway there it is the square root of the finish."""
    schedule = DecayThenFlatSchedule(1.0, 0.04, 1000, decay="exp")
    assert schedule.eval(0) == 1.0
    assert schedule.eval(500) == pytest.approx(0.2)
    assert schedule.eval(1000) == pytest.approx(0.04)
    assert schedule.eval(5000) == 0.04
    assert DecayThenFlatSchedule(0.5, 0.04, 1000, decay="exp").eval(0) == 0.5
    assert DecayThenFlatSchedule(1.0, 0.0, 1000, decay="exp").eval(2) == pytest.approx(math.exp(-2))
    assert DecayThenFlatSchedule(1.0, 1.0, 1000, decay="exp").eval(700) == 1.0


@given(
    st.floats(0, 1), st.floats(0, 1), st.integers(1, 10**6), st.sampled_from(["linear", "exp"]), st.integers(0, 10**7)
)
def test_it_stays_between_start_and_finish_and_never_rises(a, b, time_length, decay, t):
    start, finish = max(a, b), min(a, b)
    schedule = DecayThenFlatSchedule(start, finish, time_length, decay=decay)
    assert finish <= schedule.eval(t) <= start
    assert schedule.eval(t + 1) <= schedule.eval(t)


def test_other_shapes_are_refused():
    with pytest.raises(ValueError, match="'cubic'"):
        DecayThenFlatSchedule(1, 0, 1, decay="cubic")
