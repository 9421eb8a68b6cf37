"""Pictures and animations of replays."""

import copy
import functools

import numpy as np
import pytest

import replay as command
from replays import export
from replays.canvas import Canvas, shortened, text_width
from replays.drawing import NEUTRAL, TEAMS, bounds_of, close_up, draw
from replays.frames import BAR, frames
from replays.reader import Replay, read_replay
from replays.writer import ReplayWriter
from utils.errors import ConfigError

WHITE, BLACK = (255, 255, 255), (0, 0, 0)


def unit(x, y, **more):
    return {"id": f"{x} {y}", "x": x, "y": y, "radius": 1.0, "team": None, **more}


def has_colour(picture, colour):
    return bool((picture == colour).all(axis=2).any())


def recorded(folder, length=4, **decision):
    """A short replay of one unit that walks east."""
    header = {"env": "x", "map": "a map", "action_names": [["stay", "east"]], "scene": {"bounds": [0, 0, 8, 4]}}
    writer = ReplayWriter(folder, "0_0", header)
    decision = {"actions": [1], "avail_actions": [[1, 1]], "q_values": [[0.5, 1.5]], "q_tot": 2.0, **decision}
    for t in range(length):
        moment = {"units": [unit(1 + t, 2, team=0, agent=0)]}
        writer.step(moment, reward=1.0, terminated=t == length - 1, truncated=False, info={}, **decision)
    writer.end({"units": [unit(1 + length, 2)]}, terminated=True, truncated=False, info={"battle_won": True})
    return writer.path


def test_shapes_are_where_they_should_be():
    canvas = Canvas(20, 10, WHITE)
    canvas.rectangle(2, 1, 3, 4, BLACK)
    expected = np.full((10, 20, 3), 255, dtype=np.uint8)
    expected[1:5, 2:5] = 0
    assert np.array_equal(canvas.pixels(), expected)
    canvas = Canvas(40, 40, WHITE)
    canvas.disc(20, 20, 10, BLACK)
    dark = 1 - canvas.pixels()[..., 0] / 255
    assert dark.sum() == pytest.approx(np.pi * 100, rel=0.02)
    assert np.array_equal(dark, dark.T)
    canvas = Canvas(40, 40, WHITE)
    canvas.line(((5, 5), (35, 5), (35, 25)), 4, BLACK)
    assert (1 - canvas.pixels()[..., 0] / 255).sum() == pytest.approx((30 + 20) * 4 + np.pi, rel=0.05)
    canvas = Canvas(40, 40, WHITE)
    canvas.ring(20, 20, 10, 2, BLACK)
    assert (1 - canvas.pixels()[..., 0] / 255).sum() == pytest.approx(np.pi * (100 - 64), rel=0.03)
    canvas = Canvas(40, 40, WHITE)
    canvas.diamond(20, 20, 10, BLACK)
    assert (1 - canvas.pixels()[..., 0] / 255).sum() == pytest.approx(200, rel=0.1)


@pytest.mark.parametrize("place", [(-50, -50), (500, 3), (0, 0), (19, 9)])
def test_parts_outside_are_cut_off(place):
    canvas = Canvas(20, 10, WHITE)
    x, y = place
    for draw_shape in (canvas.disc, canvas.square, canvas.diamond):
        draw_shape(x, y, 6, BLACK)
    canvas.ring(x, y, 6, 2, BLACK)
    canvas.line(((x, y), (-x, -y)), 2, BLACK)
    canvas.text(x, y, "outside", BLACK, anchor="mm")
    assert canvas.pixels().shape == (10, 20, 3)


def test_north_is_up_and_bodies_have_their_colours():
    scene = {"bounds": [0, 0, 10, 10]}
    snapshot = {"units": [unit(2, 8, team=0), unit(8, 2, team=1), unit(8, 8, colour=[1, 2, 3]), unit(2, 2)]}
    picture = draw(scene, snapshot, 10)
    assert picture.shape == (100, 100, 3)
    for (row, column), colour in {(20, 20): TEAMS[0], (80, 80): TEAMS[1], (20, 80): (1, 2, 3)}.items():
        assert tuple(picture[row, column]) == colour
    assert tuple(picture[80, 20]) == NEUTRAL


VALUES = {"null": None, "negative": -1, "huge": 10**400, "text": "text", "list": [1], "mapping": {"a": 1}}


def _places(value, path=()):
    """All places in a tree of mappings and lists."""
    if path:
        yield path
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from _places(inner, (*path, key))


@pytest.mark.slow
@pytest.mark.parametrize("value", VALUES.values(), ids=VALUES)
def test_values_of_other_kinds_are_refused_in_words(value):
    """Each value of a replay in turn: it is drawn, or the error says what it should be."""
    unit = {"id": "a", "agent": 0, "team": 0, "x": 0, "y": 0, "radius": 0.5, "health": 1, "max_health": 2, "label": "a"}
    car = {"id": 1, "x": 1, "y": 1, "shape": "car", "heading": 0.5, "colour": [1, 2, 3], "alive": True}
    snapshot = {"units": [unit, car], "links": [{"from": "a", "to": 1, "kind": "attack"}], "texts": ["words"]}
    scene = {"title": "t", "bounds": [0, 0, 2, 2], "grid": 1, "ground": {"cell": 1, "rows": [".#"]}}
    scene["road"] = {"left": [[0, 0], [1, 1]]}
    step = {"type": "step", "t": 0, "snapshot": snapshot, "actions": [0], "acts": [1], "avail_actions": [[1, 1]]}
    step |= {"q_values": [[0.5, 1.5]], "q_tot": 1.0, "return": 2.0, "reward": 1.0}
    chosen = {"type": "step", "t": 1, "snapshot": snapshot, "decisions": {"a": [[0.5]]}, "return": 2.0}
    last = {"type": "step", "t": 2, "snapshot": snapshot, "return": 2.0}
    whole = [{"scene": scene, "action_names": [["one", "two"]]}, [step, chosen, last], {"won": True}]
    assert len(list(frames(Replay(*whole), scale=4))) == 3
    refused = 0
    for *path, key in _places(whole):
        if not path:
            continue
        changed = copy.deepcopy(whole)
        entry = functools.reduce(lambda inner, key: inner[key], path, changed)
        if not isinstance(entry, dict | list) or (path == [1] and not isinstance(value, dict)):
            continue
        entry[key] = value
        if not all(isinstance(step, dict) and isinstance(step.get("snapshot"), dict) for step in changed[1]):
            continue  # `read_replay` refuses these
        try:
            list(frames(Replay(*changed), scale=4))
        except ConfigError as error:
            assert "cannot be drawn" in str(error) or "pixels" in str(error)
            refused += 1
    assert refused > 5


def test_half_an_animation_is_not_left_behind(tmp_path):
    def broken():
        yield np.zeros((4, 4, 3), np.uint8)
        raise ConfigError("step 1 is broken")

    (tmp_path / "a.gif").write_bytes(b"the one before")
    with pytest.raises(ConfigError, match="step 1 is broken"):
        export.write_gif(tmp_path / "a.gif", broken(), 6)
    assert (tmp_path / "a.gif").read_bytes() == b"the one before"
    assert export.write_gif(tmp_path / "b.gif", [np.zeros((4, 4, 3), np.uint8)] * 2, 6) == 2
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.gif", "b.gif"]
    with pytest.raises(ConfigError, match="cannot be written: The directory does not exist"):
        export.write_gif(tmp_path / "none" / "a.gif", [np.zeros((4, 4, 3), np.uint8)], 6)


def test_ground_links_meters_and_the_dead():
    scene = {"bounds": [0, 0, 4, 2], "ground": {"cell": 1, "rows": ["#..#", "#^^#"]}}
    empty = draw(scene, {"units": []}, 10)
    assert len({tuple(empty[row, column]) for row, column in ((5, 5), (5, 15), (15, 15))}) == 3
    assert tuple(empty[15, 5]) == tuple(empty[5, 5])
    one, other = unit(1, 1, id=1, radius=0.2), unit(3, 1, id=2, radius=0.2, team=1)
    link = {"from": 1, "to": 2, "kind": "attack"}
    plain_picture = draw(scene, {"units": [one, other]}, 10)
    for changed in (
        {"units": [one, other], "links": [link]},
        {"units": [one | {"health": 1, "max_health": 2}, other]},
        {"units": [one | {"alive": False}, other]},
        {"units": [one | {"label": "x", "radius": 0.5}, other]},
        {"units": [one, other], "texts": ["text"]},
    ):
        assert not np.array_equal(draw(scene, changed, 10), plain_picture)
    nobody = {"units": [one, other], "links": [{"from": 1, "to": 99}]}
    assert np.array_equal(draw(scene, nobody, 10), plain_picture), "a link to nobody is left out"


def test_everything_is_shown():
    snapshots = [{"units": [unit(0, 0)]}, {"units": [unit(5, -3)]}, {}]
    assert bounds_of({"bounds": [-0.5, -9, 2, 0.5]}, snapshots) == (-1, -9, 6, 1)
    x0, y0, x1, y1 = bounds_of({}, snapshots)
    assert (x0, y0) < (-1, -4)
    assert (x1, y1) > (6, 1)
    assert bounds_of({}, []) == (0, 0, 1, 1)
    map_ = {"bounds": [-50, -50, 50, 50], "ground": {"rows": ["."]}}
    x0, y0, x1, y1 = close_up(map_, snapshots)
    assert -20 < x0 < -1 and -20 < y0 < -4
    assert 6 < x1 < 20 and 1 < y1 < 20


def test_text_is_where_its_anchor_says_and_as_wide_as_measured():
    for anchor, left, right in (("lm", 20, 80), ("mm", 20 - 30, 80 - 30), ("rm", 20 - 60, 80 - 60)):
        canvas = Canvas(200, 60, WHITE)
        size = 60 * 20 / text_width("HHH", 20)  # as wide as 60 pixels
        canvas.text(20 + 50, 30, "HHH", BLACK, anchor=anchor, size=size)
        rows, columns = np.nonzero(canvas.pixels()[..., 0] < 128)
        assert columns.min() == pytest.approx(left + 50, abs=4)
        assert columns.max() == pytest.approx(right + 50, abs=4)
        assert (rows.min() + rows.max()) / 2 == pytest.approx(30, abs=4)


@pytest.mark.parametrize(("text", "drawn"), [("Zoé – 2×3", "Zoe - 2x3"), ("→ ←", "> <"), ("Å²", "A2")])
def test_signs_that_the_font_lacks_are_drawn_as_plain_ones(text, drawn):
    pictures = []
    for one in (text, drawn):
        canvas = Canvas(90, 20, (255, 255, 255))
        canvas.text(2, 10, one, (0, 0, 0))
        pictures.append(canvas.pixels())
    assert (pictures[0] == pictures[1]).all() and text_width(text) == text_width(drawn)


def test_text_that_is_too_long_ends_in_an_ellipsis():
    assert shortened("attack", 100) == "attack"
    cut = shortened("attack enemy 12", 60)
    assert cut.startswith("attack") and cut.endswith("…") and text_width(cut) <= 60
    assert text_width("attack enemy 12"[: len(cut)] + "…") > 60, "no more of it fits"
    assert text_width("ж") > 0, "letters that the font lacks are boxes"


@pytest.mark.parametrize("decision", [{}, {"q_values": None, "q_tot": None}, {"q_values": None, "policy": [[0, 1]]}])
def test_a_frame_for_every_moment(tmp_path, decision):
    replay = read_replay(recorded(tmp_path, **decision))
    drawn = list(frames(replay))
    assert len(drawn) == 5
    assert len({frame.tobytes() for frame in drawn}) == 5
    assert {frame.shape for frame in drawn} == {drawn[0].shape}
    assert all(side % 2 == 0 for side in drawn[0].shape[:2])
    assert next(frames(replay, scale=100)).shape[1] > drawn[0].shape[1]
    assert has_colour(drawn[0], TEAMS[0])


def test_many_agents_and_names_that_are_missing(tmp_path):
    writer = ReplayWriter(tmp_path, "0_0", {"env": "x"})
    many = {"actions": [0] * 40, "avail_actions": [[1]] * 40, "q_values": [[None]] * 40}
    outcome = {"reward": 0.0, "terminated": True, "truncated": False, "info": {}}
    writer.step({"units": []}, **many, **outcome)
    writer.close()
    assert len(list(frames(read_replay(writer.path)))) == 1


@pytest.mark.parametrize("kind", ["gif", "mp4"])
def test_animations_have_all_frames(tmp_path, capsys, kind):
    imageio = pytest.importorskip("imageio.v2")
    path, out = recorded(tmp_path), tmp_path / f"out.{kind}"
    assert command.main([str(path), f"--{kind}", str(out), "--fps", "5", "--scale", "20"]) == 0
    assert capsys.readouterr().out == f"{out}: 5 frames\n"
    with imageio.get_reader(out) as reader:
        found = [frame[..., :3] for frame in reader]
        meta = reader.get_meta_data()
    assert len(found) == 5
    expected = list(frames(read_replay(path), 20))
    for frame, drawn in zip(found, expected, strict=True):
        assert frame.shape == drawn.shape
        assert np.abs(frame.astype(int) - drawn).mean() < 6
    assert meta["duration"] == pytest.approx(200 if kind == "gif" else 1.0, rel=0.01)


def test_mistakes_of_the_command(tmp_path, capsys, monkeypatch):
    path = recorded(tmp_path)
    assert command.main([str(tmp_path / "nothing"), "--gif", "x.gif"]) == 2
    assert command.main([str(path), "--gif", str(tmp_path / "no folder" / "x.gif")]) == 2
    begun = ReplayWriter(tmp_path, "1_0", {"env": "x"})
    begun.close()
    assert command.main([str(begun.path), "--gif", str(tmp_path / "x.gif")]) == 2
    errors = capsys.readouterr().err.splitlines()
    for error, words in zip(errors, ["cannot be read", "cannot be written", "has no steps yet"], strict=True):
        assert error.startswith("error: ") and words in error
    assert command.main([str(path)]) == 2
    assert "name a file for the animation" in capsys.readouterr().err
    for words in (["--gif", "a", "--mp4", "b"], ["--gif", "a", "--fps", "0"], ["--gif", "a", "--scale", "x"]):
        assert command.main([str(path), *words]) == 2

    def missing(name):
        raise ModuleNotFoundError(name=name)

    monkeypatch.setattr(export.importlib, "import_module", missing)
    capsys.readouterr()
    assert command.main([str(path), "--gif", str(tmp_path / "x.gif")]) == 2
    assert "pip install -r requirements-browser.txt" in capsys.readouterr().err


@pytest.mark.parametrize("bounds", [[0, 0, 1e9, 1e9], [0, 0, 1e12, 1e-12]])
def test_a_world_too_large_for_a_picture_is_refused(tmp_path, bounds):
    writer = ReplayWriter(tmp_path, "0_0", {"env": "x", "scene": {"bounds": bounds}})
    outcome = {"reward": 1.0, "terminated": False, "truncated": False, "info": {}}
    writer.step({"units": [unit(1, 1)]}, actions=[0], avail_actions=[[1]], **outcome)
    writer.close()
    with pytest.raises(ConfigError, match="would have more than 33554432 pixels"):
        next(frames(read_replay(writer.path), scale=100))


def test_a_grid_too_fine_to_be_seen_is_not_drawn():
    scene = {"bounds": [0, 0, 8, 4], "grid": 1e-12}
    assert (draw(scene, {"units": []}, 10) == draw({**scene, "grid": None}, {"units": []}, 10)).all()


def test_an_agent_with_nothing_to_do_has_no_action(tmp_path):
    """Slots of environments of entities, such as that of a cannon that is not ready."""
    for acts, shown in (([1], True), ([0], False)):
        (tmp_path / str(acts)).mkdir()
        first = next(frames(read_replay(recorded(tmp_path / str(acts), acts=acts, q_tot=None))))
        assert has_colour(first, BAR) == shown
