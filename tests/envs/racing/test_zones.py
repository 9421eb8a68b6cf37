"""Zones, metres and lines are those of brute force and of the definition."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from envs.racing.kernel.zones import REACH as KERNEL_REACH
from envs.racing.kernel.zones import metres_of, nearest, pointing_of, potential_of, zone_of
from envs.racing.line import LineRules, line_of
from envs.racing.state import AFTER, BEFORE, POINT, SPACING

REACH = np.hypot(0.5 / 2, 90 / 2)
places = st.floats(-120, 120, allow_subnormal=False)


def by_the_rule(centres, zone, finish, place, back=np.inf):
    """Linesight's rule, word for word: forward while the next centre is at least as near, in reach and before the end;
    back while the one before is nearer, and in reach `back`."""
    distance = np.hypot(*(centres - place).T)
    while zone < finish and distance[zone + 1] <= distance[zone] and distance[zone + 1] <= REACH:
        zone += 1
    while zone > 1 and distance[zone - 1] < distance[zone] and distance[zone - 1] <= back:
        zone -= 1
    return zone


def records(centres):
    points = np.zeros(len(centres), POINT)
    points["x"], points["y"] = centres.T
    return points


@given(
    st.lists(st.tuples(places, places), min_size=4, max_size=40),
    st.integers(1, 40),
    st.integers(2, 40),
    places,
    places,
    st.sampled_from([np.inf, KERNEL_REACH]),
)
def test_the_zone_is_that_of_the_rule(centres, zone, finish, x, y, back):
    centres = np.array(centres)
    finish = min(finish, len(centres) - 2)
    zone = min(zone, finish)
    squared = ((centres - (x, y)) ** 2).sum(axis=1)
    assume((np.abs(np.subtract.outer(squared, squared))[~np.eye(len(centres), dtype=bool)] > 1e-6).all())
    assume((np.abs(squared - REACH**2) > 1e-6).all())
    found = zone_of(records(centres), zone, finish, x, y, back)
    assert found == by_the_rule(centres, zone, finish, np.array([x, y]), back)


@pytest.mark.parametrize(
    ("zone", "x", "y", "expected"),
    [
        (3, 4.0, 0.0, 4),
        (3, 3.5, 0.0, 4),  # as near: forward
        (4, 3.5, 0.0, 4),  # as near: not back
        (4, 3.4, 0.0, 3),
        (3, 20.0, 0.0, 9),  # not past the end
        (3, 4.0, 45.0, 4),  # within reach
        (3, 4.0, 45.1, 3),  # beyond
        (3, -9.0, 0.0, 1),
    ],
)
def test_the_borders_of_the_rule(zone, x, y, expected):
    centres = np.stack([np.arange(12.0), np.zeros(12)], axis=1)
    assert zone_of(records(centres), zone, 9, x, y, np.inf) == expected


def test_the_nearest_zone_is_followed_beyond_the_finish_and_the_reach():
    centres = np.stack([np.arange(12.0), np.zeros(12)], axis=1)
    assert nearest(records(centres), 3, 10, 10.2, 300.0) == 10
    assert nearest(records(centres), 8, 10, 2.2, 300.0) == 2


def straight(metres=100.0):
    return np.stack([np.arange(0, metres, SPACING), np.zeros(int(metres / SPACING))], axis=1)


def test_a_line_is_extended_and_smoothed():
    bend = np.concatenate([straight(10.0), [[10.0, 0.0]] + np.array([[0.0, 1.0]]) * np.arange(0, 20, 0.5)[:, None]])
    line = line_of(bend, 8.0)
    assert len(line.points) == BEFORE + len(bend) + AFTER
    assert (line.start, line.finish) == (BEFORE, BEFORE + len(bend) - 1)
    x, y = line.points["x"], line.points["y"]
    assert (x[0], y[0]) == (-10.0, 0.0)
    assert (x[-1], y[-1]) == pytest.approx((10.0, 19.5 + 500.0))
    whole = np.concatenate(
        [[[-0.5 * k, 0.0] for k in range(20, 0, -1)], bend, [[10.0, 20.0 + 0.5 * k] for k in range(9)]]
    )
    for zone in (7, 30, 38, 40, 42, 50):
        assert (x[zone], y[zone]) == pytest.approx(tuple((whole[zone - 5] + whole[zone + 5]) / 2))


def test_metres_are_the_way_to_the_midpoint_before_and_the_clipped_projection():
    line = line_of(straight(), 8.0)
    assert line.metres == pytest.approx(99.5)
    metres = [metres_of(line.points, 30, x, 3.0) for x in (4.0, 4.75, 4.9, 5.2, 5.25, 7.0)]
    assert metres == pytest.approx([4.75, 4.75, 4.9, 5.2, 5.25, 5.25])


@given(st.integers(0, 10_000), st.integers(25, 150), st.floats(-6, 6), st.floats(-3, 3))
def test_metres_on_a_bend_are_those_of_brute_force(seed, zone, aside, along):
    rng = np.random.default_rng(seed)
    heading = np.cumsum(rng.uniform(-0.05, 0.05, 200))
    centres = np.cumsum(SPACING * np.stack([np.cos(heading), np.sin(heading)], axis=1), axis=0)
    line = line_of(centres, 8.0)
    whole = np.stack([line.points["x"], line.points["y"]], axis=1)
    middles = (whole[1:] + whole[:-1]) / 2
    x, y = place = whole[zone] + (along, aside)
    way = sum(np.hypot(*(middles[k + 1] - middles[k])) for k in range(BEFORE - 1, zone - 1))
    way -= np.hypot(*(middles[BEFORE] - middles[BEFORE - 1])) / 2
    axis = middles[zone] - middles[zone - 1]
    length = np.hypot(*axis)
    way += min(max((place - middles[zone - 1]) @ axis / length, 0.0), length)
    assert metres_of(line.points, zone, x, y) == pytest.approx(way, abs=1e-9)


@pytest.mark.parametrize(("y", "expected"), [(0.0, -0.2), (10.0, -1.0), (30.0, -2.5)])
def test_the_potential_is_a_clipped_distance(y, expected):
    centres = np.stack([np.arange(12.0), np.zeros(12)], axis=1)
    assert potential_of(records(centres), 5, 5.0, y) == pytest.approx(expected)


# what Linesight's own functions found (83656d3), for a line of 200 points 0.5 m apart from (0, 0) along x
@pytest.mark.parametrize(("y", "linesights"), [(60.0, 59), (0.0, 2)])
def test_a_zone_is_left_backwards_as_linesight_does(y, linesights):
    points = line_of(straight(), 8.0).points
    assert zone_of(points, 59, 219, -9.0, y, KERNEL_REACH) == linesights
    assert zone_of(points, 59, 219, -9.0, y, np.inf) == 2


def test_a_line_continues_in_its_own_steps_as_linesights():
    centres = straight()
    centres[-1, 0] += 0.3
    centres[0, 0] -= 0.2
    theirs, ours = (line_of(centres, 8.0, LineRules(ends=ends)).points["x"] for ends in ("step", "spacing"))
    assert (*theirs[:2], theirs[-1], theirs[219]) == pytest.approx((-14.2, -13.5, 899.8, 100.4))
    assert (*ours[:2], ours[-1], ours[219]) == pytest.approx((-10.2, -9.7, 599.8, 99.65))


def test_a_finish_is_entered_a_zone_later_as_linesights():
    theirs, ours = (line_of(straight(), 8.0, LineRules(finish=finish)) for finish in ("beyond", "line"))
    assert (theirs.entry, theirs.metres) == (220, pytest.approx(110.0 - 9.75))
    assert (ours.entry, ours.metres) == (219, pytest.approx(99.5))
    assert theirs.finish == ours.finish == 219


@pytest.mark.parametrize(("angle", "expected"), [(0.0, 0.0), (0.5 * np.pi, -1.0), (np.pi, -2.0)])
def test_a_heading_lacks_of_the_direction_of_the_track(angle, expected):
    points = line_of(straight(), 8.0).points
    assert pointing_of(points, 30, 50, np.cos(angle), np.sin(angle)) == pytest.approx(expected)
    assert pointing_of(points, 30, 30, 1.0, 0.0) == 0.0
