"""Lines in space: racing's rules in the plane, and files that are no line."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from envs.racing.kernel.zones import REACH, metres_of, zone_of
from envs.racing.line import LineRules, line_of
from envs.trackmania.line import ReferenceLine, read_line
from trackmania_game.examples import straight_line
from utils.errors import ConfigError


@settings(max_examples=40, deadline=None)
@given(
    st.integers(0, 10_000),
    st.lists(st.tuples(st.integers(1, 150), st.floats(-50, 50), st.floats(-9, 9)), max_size=9),
    st.sampled_from([(LineRules(), np.inf), (LineRules("step", "beyond"), REACH)]),
)
def test_on_flat_ground_the_rules_are_racings(seed, places, chosen):
    rng = np.random.default_rng(seed)
    heading = np.cumsum(rng.uniform(-0.05, 0.05, 200))
    flat = np.cumsum(0.5 * np.stack([np.cos(heading), np.sin(heading)], axis=1), axis=0)
    rules, back = chosen
    there, here = line_of(flat, 8.0, rules), ReferenceLine(np.insert(flat, 1, 4.0, axis=1), rules)
    assert (here.start, here.finish, here.entry) == (there.start, there.finish, there.entry)
    assert here.end == pytest.approx(there.metres)
    zone = here.start
    for near, x, z in places:
        at = flat[near] + (x, z)
        zone_before, zone = zone, here.zone_of(zone, np.array([at[0], 4.0, at[1]]), back)
        assert zone == zone_of(there.points, zone_before, there.finish, *at, back)
        assert here.metres_of(zone, np.array([at[0], 4.0, at[1]])) == pytest.approx(metres_of(there.points, zone, *at))


def test_height_counts():
    line = ReferenceLine(straight_line(100))
    zone = line.zone_of(line.start, np.array([20.0, 10.0, 5.0]))
    assert zone == line.start + 20
    assert line.zone_of(line.start, np.array([20.0, 100.0, 5.0])) == line.start  # beyond the reach of 45 m
    slope = straight_line(100)
    slope[:, 1] += 0.75 * (slope[:, 0] - 10)
    slope[:, 0] = 10 + 0.8 * (slope[:, 0] - 10)
    slope[:, 1] = 10 + 0.8 * (slope[:, 1] - 10)  # 0.8 along, 0.6 up
    assert ReferenceLine(slope).end == pytest.approx(line.end)


def test_zones_beyond_the_end_are_the_last():
    line = ReferenceLine(straight_line(100))
    last = line.geometry.centres[-1]
    assert line.ahead(len(line.geometry.centres) - 2, 3, 20)[1:].tolist() == [last.tolist()] * 2


def saved(tmp_path, points):
    np.save(tmp_path / "line.npy", points)
    return str(tmp_path / "line.npy")


def test_a_line_with_jumps_is_read(tmp_path):
    points = straight_line(100)
    points[80:, 0] += 0.52
    assert read_line(saved(tmp_path, points)).finish == 20 + 199


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda points: points[:, :2], "three: x, height, z"),
        (lambda points: points[:30], "has 30 points"),
        (lambda points: np.concatenate([points[:50], points[60:]]), "points 49 and 50 are 5.5 m apart"),
        (lambda points: np.repeat(points, 2, axis=0), "points 0 and 1 are 0 m apart"),
        (lambda points: np.where(points == points[7], np.nan, points), "point 0 is"),
        (lambda points: np.concatenate([points, points[-2::-1]]), "turns back at point"),
        (lambda points: points.astype(object), "is not a file of centre points"),
    ],
)
def test_files_that_are_no_line_are_refused(tmp_path, spoil, message):
    with pytest.raises(ConfigError, match=f"^the line .*{message}"):
        read_line(saved(tmp_path, spoil(straight_line(100))))


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(ConfigError, match=r"none\.npy cannot be read: No such file"):
        read_line(str(tmp_path / "none.npy"))
