"""Replays as files: what is written is what is read, whole or torn, and nothing is overwritten."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replays.frames import frames
from replays.plain import plain, plain_info
from replays.reader import read_replay
from replays.writer import ReplayWriter
from utils.errors import ConfigError

ROOT = Path(__file__).resolve().parents[2]
NUMBERS = st.floats(-1e6, 1e6, width=32)
SNAPSHOTS = st.fixed_dictionaries(
    {"units": st.lists(st.fixed_dictionaries({"id": st.text(max_size=3), "x": NUMBERS, "y": NUMBERS}), max_size=3)}
)
STEPS = st.lists(st.tuples(SNAPSHOTS, st.lists(st.integers(0, 5), max_size=3), NUMBERS), min_size=1, max_size=4)
DECISION = {"avail_actions": [[1, 0]], "terminated": False, "truncated": False, "info": {}}


def write(folder, steps, header=None, end=True):
    """The path of a replay with these (snapshot, actions, reward)."""
    writer = ReplayWriter(folder, "20_0", {"env": "x"} if header is None else header)
    for snapshot, actions, reward in steps:
        writer.step(snapshot, actions=actions, reward=reward, **DECISION)
    if end:
        writer.end({"units": []}, terminated=True, truncated=False, info={"won": 1})
    writer.close()
    return writer.path


@settings(max_examples=40, deadline=None)
@given(steps=STEPS, header=st.dictionaries(st.sampled_from(["env", "map", "scene"]), st.text(max_size=5)))
def test_written_content_is_read_back(tmp_path_factory, steps, header):
    replay = read_replay(write(tmp_path_factory.mktemp("replay"), steps, header))
    assert replay.header == {"type": "header", "format": "muster-replay", "version": 1, **header}
    assert [step["t"] for step in replay.steps] == list(range(len(steps) + 1))
    for step, (snapshot, actions, reward) in zip(replay.steps, steps, strict=False):
        assert step["actions"] == actions
        assert step["reward"] == pytest.approx(reward, rel=1e-6)
        for unit, written in zip(step["snapshot"]["units"], snapshot["units"], strict=True):
            assert unit["id"] == written["id"]
            assert unit["x"] == pytest.approx(written["x"], rel=1e-6)
    total = math.fsum(reward for _, _, reward in steps)
    assert replay.footer["return"] == pytest.approx(total, rel=1e-5, abs=1e-3)
    assert (replay.footer["length"], replay.footer["won"]) == (len(steps), True)
    assert "actions" not in replay.steps[-1]


@settings(max_examples=40, deadline=None)
@given(steps=STEPS, data=st.data())
def test_a_torn_file_is_read_as_far_as_it_goes(tmp_path_factory, steps, data):
    path = write(tmp_path_factory.mktemp("replay"), steps)
    whole, content = read_replay(path), path.read_bytes()
    first_line = content.index(b"\n")
    length = data.draw(st.integers(first_line + 1, len(content)))
    path.write_bytes(content[:length] + data.draw(st.sampled_from([b"", b"\x00\x00", b"\xc3"])))
    torn = read_replay(path)
    lines = content[:length].count(b"\n") - 1
    assert torn.header == whole.header
    assert torn.steps == whole.steps[: len(torn.steps)]
    # a line that lacks only its line break may count
    assert lines <= len(torn.steps) + (torn.footer is not None) <= lines + 1
    assert torn.footer in (None, whole.footer)


def test_it_can_be_read_while_it_is_written(tmp_path):
    writer = ReplayWriter(tmp_path, "20_0", {"env": "x"})
    for t in range(3):
        writer.step({"units": []}, actions=[0], reward=1.0, **DECISION)
        replay = read_replay(writer.path)
        assert [step["return"] for step in replay.steps] == [k + 1.0 for k in range(t + 1)]
        assert replay.footer is None
    writer.close()


def test_nothing_is_overwritten(tmp_path):
    paths = [write(tmp_path, [], {"map": str(k)}) for k in range(3)]
    assert [path.name for path in paths] == ["20_0.jsonl", "20_0_2.jsonl", "20_0_3.jsonl"]
    assert [read_replay(path).header["map"] for path in paths] == ["0", "1", "2"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is not a replay"),
        (b'{"type": "header", "form', "is not a replay"),
        (b'{"format": 1}\n', "is not a replay"),
        (b"[1]\n", "is not a replay"),
        (b"\xff\xfe\n", "is not a replay"),
        (b'{"format": "muster-replay", "version": 2}\n', "of version 2; this Muster reads versions up to 1"),
        (b'{"format": "muster-replay"}\n', "of version None"),
        (b'{"format": "muster-replay", "version": 1}\nbroken\n{"type": "footer"}\n', "line 2: invalid"),
        (b'{"format": "muster-replay", "version": 1}\n{"type": "step"}\n', "line 2: expected a step with a snapshot"),
    ],
)
def test_invalid_replays_are_refused(tmp_path, content, message):
    path = tmp_path / "x.jsonl"
    path.write_bytes(content)
    with pytest.raises(ConfigError, match=message):
        read_replay(path)


def test_a_missing_file(tmp_path):
    with pytest.raises(ConfigError, match=r"nothing\.jsonl cannot be read: No such file"):
        read_replay(tmp_path / "nothing.jsonl")


def test_values_of_other_libraries_become_plain_ones():
    mixed = {"a": np.float32(0.1), 2: np.array([[1, 2]]), "c": (np.bool_(True), float("nan"), float("-inf"), None)}
    assert plain(mixed) == {"a": 0.1, "2": [[1, 2]], "c": [True, None, None, None]}
    json.dumps(plain(mixed), allow_nan=False)
    assert plain(1 / 3) == 0.3333333
    with pytest.raises(TypeError, match="a set cannot be written"):
        plain({"a": {1}})
    assert plain_info({"won": np.int64(1), "lock": object(), 3: "x"}) == {"won": 1, "3": "x"}
    endless = {"list": [], "huge": 10**5000}
    endless["list"].append(endless["list"])
    assert plain_info(endless) == {}


def test_the_example_in_the_docs_is_a_replay(tmp_path):
    text = (ROOT / "docs" / "replays.md").read_text()
    (tmp_path / "example.jsonl").write_text(text.split("### An example")[1].split("```\n")[1])
    replay = read_replay(tmp_path / "example.jsonl")
    assert (len(replay.steps), replay.footer["length"]) == (3, 2)
    assert len(list(frames(replay))) == 3


def test_other_things_than_files_and_too_long_ones_are_not_read(tmp_path, monkeypatch):
    with pytest.raises(ConfigError, match="it is not a regular file but a device"):
        read_replay("/dev/zero")
    monkeypatch.setattr("replays.reader.LARGEST", 100)
    with pytest.raises(ConfigError, match="longer than 100 bytes"):
        read_replay(write(tmp_path, [({"units": []}, [0], 1.0)] * 3))
