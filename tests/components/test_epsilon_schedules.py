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
def test_it_is_monotonic_between_its_ends(start, finish, time_length, decay, t):
    schedule = DecayThenFlatSchedule(start, finish, time_length, decay=decay)
    assert min(start, finish) <= schedule.eval(t) <= max(start, finish)
    step = schedule.eval(t + 1) - schedule.eval(t)
    assert step == 0 or (step > 0) == (finish > start)


@pytest.mark.parametrize("decay", ["linear", "exp"])
def test_one_that_rises_is_the_mirror_image_of_one_that_falls(decay):
    """A warm-up: PyMARL's sticks to the finish from the first step on."""
    up, down = (DecayThenFlatSchedule(*ends, 100, decay=decay) for ends in ((0.1, 0.9), (0.9, 0.1)))
    assert (up.eval(0), up.eval(100), up.eval(5000)) == pytest.approx((0.1, 0.9, 0.9))
    assert [up.eval(t) for t in range(120)] == pytest.approx([1 - down.eval(t) for t in range(120)])
    assert 0.1 < up.eval(50) < 0.9


def test_other_shapes_are_refused():
    with pytest.raises(ValueError, match="'cubic'"):
        DecayThenFlatSchedule(1, 0, 1, decay="cubic")
