"""Numbers that follow the step count."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from components.epsilon_schedules import DecayThenFlatSchedule
from utils.numbers.schedules import Schedule

POINTS = [[100, 1.0], [200, 3.0], [400, 0.5]]


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ([], [1, 1, 1.5, 3, 1.75, 0.5, 0.5]),
        (["linear"], [1, 1, 1.5, 3, 1.75, 0.5, 0.5]),
        # sqrt(sqrt(3)) a quarter of the way from 1 to 3, sqrt(3 x 0.5) halfway from 3 to 0.5
        (["exponential"], [1, 1, 3**0.25, 3, math.sqrt(1.5), 0.5, 0.5]),
        (["staircase"], [1, 1, 1, 3, 3, 0.5, 0.5]),
    ],
)
def test_each_kind_by_hand(kind, expected):
    schedule = Schedule.of([*kind, *POINTS])
    steps = (0, 100, 125, 200, 300, 400, 10**9)
    assert [schedule.eval(t) for t in steps] == pytest.approx(expected)
    assert [schedule.eval(t) for t, _ in POINTS] == [value for _, value in POINTS]


def test_negative_values_may_fall_exponentially_too():
    assert Schedule.of(["exponential", [0, -1], [2, -4]]).eval(1) == pytest.approx(-2)


@pytest.mark.parametrize("value", [0.3, 0, -2, np.float32(0.5)])
def test_a_number_is_constant(value):
    schedule = Schedule.of(value)
    assert [schedule.eval(t) for t in (-1, 0, 10**9)] == [value] * 3


@pytest.mark.parametrize(
    ("description", "problem"),
    [
        ([], "at least one point"),
        ([[0, 1], [0, 2]], "one value for each step, and two for 0"),
        ([[5, 1], [3, 2], [5, 3]], "one value for each step, and two for 5"),
        ([[0, 1, 2]], r"\[step, value\]"),
        ([0.5, 0.1], r"\[step, value\]"),
        ([[0, "x"]], r"\[step, value\]"),
        ([[0, float("nan")]], "finite"),
        ([[0, True]], "finite"),
        (["exponential", [0, 1], [9, 0]], "one sign"),
        (["exponential", [0, 1], [9, -1]], "one sign"),
        (["cosine", *POINTS], "'cosine'"),
        ({"linear": POINTS}, "A schedule is a number"),
        ("0.5", "A schedule is a number"),
        (float("inf"), "A schedule is a number"),
        (None, "A schedule is a number"),
    ],
)
def test_anything_else_is_refused(description, problem):
    with pytest.raises(ValueError, match=problem):
        Schedule.of(description)


def _numpy(kind, points, t):
    steps, values = np.array(points, dtype=float).T
    if kind == "linear":
        return np.interp(t, steps, values)
    if kind == "exponential":
        return np.exp(np.interp(t, steps, np.log(values)))
    return values[max(0, np.searchsorted(steps, t, side="right") - 1)]


@given(
    st.sampled_from(["linear", "exponential", "staircase"]),
    st.dictionaries(st.integers(0, 10**6), st.floats(0.001, 10), min_size=1, max_size=6),
    st.integers(0, 2 * 10**6),
)
def test_values_are_numpys_interpolation_of_points_in_any_order(kind, points, t):
    assert Schedule.of([kind, *points.items()]).eval(t) == pytest.approx(_numpy(kind, sorted(points.items()), t))


@given(st.floats(0, 1), st.floats(0, 1), st.integers(1, 10**6), st.integers(0, 2 * 10**6))
def test_pymarls_linear_decay_is_one_of_two_points(start, finish, length, t):
    of_pymarl = DecayThenFlatSchedule(start, finish, length, decay="linear").eval(t)
    assert Schedule.of([[0, start], [length, finish]]).eval(t) == pytest.approx(of_pymarl, abs=1e-12)
