"""Tracks by seed and from files, and the cycles of them."""

import numpy as np
import pytest

from envs.racing.batch import BatchedRaces
from envs.racing.environment import RacingEnv
from envs.racing.generator import generated
from envs.racing.map_cycle import races_of
from envs.racing.options import Options
from envs.racing.track_files import read_centres
from envs.trackmania.line import read_line
from scripted_driver import Driver
from utils.errors import ConfigError


@pytest.mark.parametrize("seed", range(12))
def test_tracks_by_seed_have_equal_gaps_and_keep_clear_of_themselves(seed):
    points = generated(seed, 600.0, 22.0)
    assert len(points) == 1201
    assert np.hypot(*np.diff(points, axis=0).T) == pytest.approx(np.full(1200, 0.5))
    distance = np.hypot(*(points[::4, None] - points[None, ::4]).transpose(2, 0, 1))
    apart = np.abs(np.subtract.outer(*[np.arange(len(distance))] * 2)) * 2.0 > 60.0
    assert distance[apart].min() > 20.0


def test_seeds_differ_and_repeat():
    assert (generated(1, 300.0, 22.0) == generated.__wrapped__(1, 300.0, 22.0)).all()
    assert not (generated(1, 300.0, 22.0) == generated(2, 300.0, 22.0)).all()


def circle(metres=100.0, radius=40.0):
    angle = np.arange(0, metres, 0.5) / radius
    return radius * np.stack([np.cos(angle), np.sin(angle)], axis=1)


@pytest.mark.parametrize("form", ["npy", "csv", "txt"])
@pytest.mark.parametrize("height", [False, True])
def test_files_of_centre_points(tmp_path, form, height):
    points = circle()
    kept = np.insert(points, 1, 7.0, axis=1) if height else points
    path = tmp_path / f"round.{form}"
    if form == "npy":
        np.save(path, kept.astype(np.float32))
    else:
        np.savetxt(path, kept, delimiter="," if form == "csv" else " ")
    assert read_centres(str(path)) == pytest.approx(points, abs=1e-4)
    env = RacingEnv(map_cycle=[str(path)], seed=1)
    env.reset()
    assert env.batch.simulator.map_of(0) == "round"
    assert env.batch.simulator.tracks.tracks[0]["metres"] == pytest.approx(99.5, abs=0.5)


def bad(points, at, value):
    points = points.copy()
    points[at] = value
    return points


@pytest.mark.parametrize(
    ("points", "message"),
    [
        (np.zeros((100, 4)), r"two or three numbers in each line"),
        (np.zeros(100), r"two or three numbers in each line"),
        (circle(10.0), "has 20 points; it must have 41"),
        (bad(circle(), 7, np.nan), r"point 7 is \[nan, nan\]"),
        (bad(circle(), 9, 1e7), "point 9 is"),
        (bad(circle(), 30, circle()[29]), r"points 29 and 30 are 0 m apart; neighbours must be 0.5 m apart"),
        (circle()[::2], "points 0 and 1 are 1 m apart"),
        (np.concatenate([circle(50.0), circle(50.0)[-2::-1]]), "turns back at point 94"),
        (np.array(["a"] * 100), "not a file of centre points"),
        (np.array([object()] * 50), "not a file of centre points"),  # a pickle, which is not opened
    ],
)
def test_bad_files_are_refused_with_the_point(tmp_path, points, message):
    path = tmp_path / "bad.npy"
    np.save(path, points)
    with pytest.raises(ConfigError, match=message):
        RacingEnv.check_args(map_cycle=[str(path)])


UNEVEN = b"1 2\n3\n"


@pytest.mark.parametrize("content", [b"", b"\x93NUMPY broken", UNEVEN, b"one two\n", bytes(range(128, 250))])
@pytest.mark.parametrize("form", ["npy", "txt"])
def test_other_files_are_refused(tmp_path, content, form):
    path = tmp_path / f"other.{form}"
    path.write_bytes(content)
    uneven = content == UNEVEN and form == "txt"
    with pytest.raises(ConfigError, match="point 1 has 1 numbers, and point 0 has 2" if uneven else "other"):
        RacingEnv.check_args(map_cycle=[str(path)])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"map_cycle": "seed:1"}, "must be a list of tracks"),
        ({"map_cycle": []}, "has no track"),
        ({"map_cycle": [3]}, "a track is 'seed:7'"),
        ({"map_cycle": ["seed:x"]}, "write seed:7"),
        ({"map_cycle": ["seeds:9-1"]}, "in order"),
        ({"map_cycle": ["seeds:0-10000"]}, "at most 10000"),
        ({"map_cycle": [{"track": "seeds:1-200", "repeat": 100}]}, "more than 10000 races"),
        ({"map_cycle": [{"track": "seed:1", "repat": 2}]}, "Did you mean 'repeat'"),
        ({"map_cycle": [{"track": "seed:1", "repeat": 0}]}, r"repeat is 0"),
        ({"map_cycle": [{"track": "seed:1", "half_width": 100}]}, r"half_width is 100"),
        ({"map_cycle": [{"track": "seed:1", "name": "a b"}]}, r"name is a b"),
        ({"map_cycle": [{"track": f"seed:{k}", "name": "a"} for k in (1, 2)]}, "two tracks are called a"),
        ({"map_cycle": ["missing.npy"]}, r"env_args.map_cycle: the track missing.npy cannot be read: No such file"),
        ({"map_cycle": ["sed:1"]}, r"the track sed:1 cannot be read: .* Tracks by seed are seed:7 or seeds:0-99\."),
        ({"test_map_cycle": ["missing.npy"]}, r"env_args.test_map_cycle: the track missing.npy cannot be read"),
        # the best races are kept by name: those of two tracks would be one, and could not be driven again
        ({"test_map_cycle": [{"track": "seed:1", "half_width": 4}]}, "map_cycle has another track called track_1"),
        ({"view": "pixels"}, "view is 'pixels'. Allowed: both, float, picture"),
        ({"reward": "all"}, "reward is 'all'. Allowed: each, mean, sum"),
        ({"picture_size": 64}, "must be 42 or 84"),
        ({"frame_height": 12}, "frame_height is 12; it must be a whole number from 16 to 480"),
        ({"frame_width": 160.0}, "frame_width is 160.0; it must be a whole number from 16 to 640"),
        ({"n_cars": 0}, "n_cars is 0; it must be a whole number from 1 to 32"),
        ({"n_cars": 1.5}, "n_cars is 1.5; it must be a whole number from 1 to 32"),
        ({"grip": float("nan")}, "grip is nan; it must be a number from 0.1 to 10"),
        ({"step_ms": 45}, "multiple of 10"),
        ({"cars": 3}, "no such argument"),
        ({"n_cars": 32, "metres": 60.0}, "grid of 32 cars is too long"),
    ],
)
def test_bad_arguments_are_refused(arguments, message):
    with pytest.raises(ConfigError, match=message):
        RacingEnv.check_args(**{"map_cycle": ["seed:1"], **arguments})


def test_tests_may_be_on_tracks_of_training():
    RacingEnv.check_args(map_cycle=["seed:1"], test_map_cycle=["seed:1", "seed:2"])


def test_entries_may_differ_in_width_and_length():
    wide, long = races_of(
        "map_cycle", [{"track": "seed:1", "half_width": 12}, {"track": "seed:2", "metres": 90}], 8.0, 60.0
    )
    assert (wide.half_width, wide.metres, long.half_width, long.metres) == (12, 60, 8, 90)
    assert long.line().metres == pytest.approx(90, abs=0.5)
    assert Options(map_cycle=["seed:1"]).races()[0].name == "track_1"


@pytest.mark.parametrize(("metres", "clearance"), [(60.0, 86.0), (3000.0, 22.0)])
def test_short_and_long_tracks_are_found(metres, clearance):
    assert len(generated(5, metres, clearance)) == 2 * metres + 1


def test_a_search_without_end_is_refused(monkeypatch):
    from envs.racing import generator

    monkeypatch.setattr(generator, "MOST_PIECES", 5)
    with pytest.raises(ConfigError, match="no track of 900 m was found for seed:77"):
        RacingEnv(map_cycle=["seed:77"], metres=900.0)


def figure_eight(hill=30.0):
    """A reference line in space `[N, 3]`, rounded as Linesight's are: over a hill of this height, and under itself."""
    angle = np.linspace(0.3, 2 * np.pi + 0.2, 40_000)
    line = np.stack([150 * np.sin(angle), hill * np.cos(angle / 2) ** 2, 90 * np.sin(2 * angle)], axis=1)
    along = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(line, axis=0), axis=1))])
    return np.stack([np.interp(np.arange(0, along[-1], 0.5), along, column) for column in line.T], axis=1).round(1)


def saved_line(tmp_path, points):
    np.save(tmp_path / "line.npy", points)
    return str(tmp_path / "line.npy")


def test_a_line_with_slopes_is_resampled_as_seen_from_above(tmp_path, caplog):
    points = figure_eight()
    seen = points[:, [0, 2]]
    flat = np.hypot(*np.diff(seen, axis=0).T)
    assert flat.min() < 0.4  # refused before
    with caplog.at_level("INFO", "muster"):
        centres = read_centres(saved_line(tmp_path, points))
    assert np.hypot(*np.diff(centres, axis=0).T) == pytest.approx(np.full(len(centres) - 1, 0.5), abs=0.02)
    assert (centres[0], centres[-1]) == (pytest.approx(seen[0]), pytest.approx(seen[-1]))
    distance = np.hypot(*(centres[:, None] - seen[None]).transpose(2, 0, 1))
    assert distance.min(axis=1).max() < 0.3  # all of them are on the line
    in_space = np.linalg.norm(np.diff(points, axis=0), axis=1).sum()
    assert f"Of {in_space:.0f} m in space, {flat.sum():.0f} m are left seen from above" in caplog.text
    assert "heights, 0 to 30 m" in caplog.text
    assert "It crosses itself once" in caplog.text


def test_a_car_drives_on_where_a_line_crosses_itself(tmp_path):
    races = BatchedRaces(1, seed=0, map_cycle=[saved_line(tmp_path, figure_eight())])
    races.reset()
    driver, zones = Driver(races), []
    while not races.state.race["ended"].all():
        races.step(driver.actions())
        zones.append(int(races.state.cars[0, 0]["zone"]))
    assert races.state.cars[0, 0]["finished"] == 1
    assert max(np.abs(np.diff(zones))) < 10


def test_a_line_in_space_is_given_to_both_worlds(tmp_path):
    path = saved_line(tmp_path, figure_eight())
    assert read_line(path).end > RacingEnv(map_cycle=[path]).batch.simulator.tracks.tracks[0]["metres"] > 900


def looping():
    """A straight, a vertical loop of 10 m, and a straight."""
    angle = np.arange(0, 2 * np.pi, 0.05)
    loop = np.stack([30 + 10 * np.sin(angle) + angle, 10 - 10 * np.cos(angle), np.zeros_like(angle)], axis=1)
    before, after = (np.stack([x, 0 * x, 0 * x], axis=1) for x in (np.arange(0, 30, 0.5), np.arange(36.5, 80, 0.5)))
    return np.concatenate([before, loop, after])


@pytest.mark.parametrize(
    ("points", "message"),
    [
        (looping(), "seen from above, turns back .* m after the start; a car cannot follow it"),
        (np.stack([0.02 * np.arange(90), 0.5 * np.arange(90), 0 * np.arange(90)], axis=1), "seen from above, .* short"),
        (np.delete(figure_eight(), range(50, 60), axis=0), "points 49 and 50 are 5.* m apart; .* from 0.1 to 2 m"),
    ],
)
def test_lines_in_space_that_no_flat_track_can_be_are_refused(tmp_path, points, message):
    with pytest.raises(ConfigError, match=message):
        RacingEnv.check_args(map_cycle=[saved_line(tmp_path, points)])
