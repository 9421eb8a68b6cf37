"""Recordings are written whole, read back, cut where a run resumes, and refused when they are something else."""

import json

import numpy as np
import pytest

from envs.recorded.description import described
from envs.recorded.formats import open_data
from envs.recorded.quality import quality_of
from recorded_steps import FIELDS, description, steps, written
from utils.errors import ConfigError, MusterError


def test_what_was_written_is_read(tmp_path):
    first, second = steps([3, 2]), steps([4], seed=1)
    writer = written(tmp_path / "d", first, second, size=3)
    assert (writer.files, writer.episodes, writer.steps) == (2, 3, 12)
    found = open_data(tmp_path / "d")
    assert found.description == description(size=3)
    parts = list(found.parts())
    assert parts[1]["episode"].tolist() == [2] * 5
    for key in first:
        if key != "episode":
            assert np.array_equal(parts[0][key], first[key]) and np.array_equal(parts[1][key], second[key])
    quality = quality_of(found)
    assert quality[:5] == (3, 0, 9, 12, 5) and quality.returns.tolist() == [3, 2, 4]
    assert quality.figures()["return_mean"] == 3 and quality.figures()["return_quantiles"] == [2, 2.5, 3, 3.5, 4]


def test_returns_are_of_episodes_that_ended(tmp_path):
    """Those that were in progress when recording stopped would look worse than they were."""
    cut = steps([3, 2, 4])
    cut["truncated"][:] = cut["terminated"][-2:] = 0  # of the second and the third
    quality = quality_of(open_data(written(tmp_path / "d", steps([1]), cut)._folder))
    assert (quality.episodes, quality.unfinished, quality.returns.tolist()) == (4, 2, [1, 3])
    cut["terminated"][:] = 0
    quality = quality_of(open_data(written(tmp_path / "e", cut)._folder))
    assert (quality.unfinished, quality.returns.tolist()) == (3, [3, 2, 4])


def test_the_digest_is_that_of_the_content(tmp_path):
    digests = [
        quality_of(open_data(written(tmp_path / name, steps([3], seed=seed))._folder)).digest
        for name, seed in (("a", 0), ("b", 0), ("c", 1))
    ]
    assert digests[0] == digests[1] != digests[2]


def test_a_recording_is_added_to_and_cut(tmp_path):
    written(tmp_path / "d", steps([3]), steps([2]))
    again = written(tmp_path / "d", steps([1]))
    assert (again.files, again.episodes) == (3, 3)
    again.cut(1)
    assert (again.files, again.episodes, again.steps) == (1, 1, 4)
    again.add(steps([2, 2]))
    assert quality_of(open_data(tmp_path / "d")).returns.tolist() == [3, 2, 2]


def test_another_environments_recording_is_not_added_to(tmp_path):
    written(tmp_path / "d", steps([3]))
    with pytest.raises(ConfigError, match=r"a recording of env=game, not of other\. Choose another folder"):
        written(tmp_path / "d", env="other")
    with pytest.raises(ConfigError, match="a recording of env_args="):
        written(tmp_path / "d", size=4)


def test_a_disk_that_refuses_keeps_what_was_written(tmp_path, monkeypatch):
    writer = written(tmp_path / "d", steps([3]))

    def full(*args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("envs.recorded.recording.write_whole", full)
    with pytest.raises(MusterError, match="cannot be written: No space left"):
        writer.add(steps([1]))
    assert quality_of(open_data(tmp_path / "d")).episodes == 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"version": 7}, "has version 7; this Muster reads version 2"),
        ({"format": "x"}, "is not the header of a recording"),
        ({"groups": {"agents": 0}}, "is not a mapping of names to numbers of agents"),
        ({"groups": {"agents": 10**9}}, "is not a mapping of names to numbers of agents"),
        ({"episode_limit": -1}, "is not a number of steps"),
        ({"fields": []}, "is not a mapping of fields"),
        ({"fields": {"obs": {"kind": "seen"}}}, "it needs a kind, one of observation"),
        ({"fields": {"obs": {"kind": "observation", "shap": [1]}}}, "Did you mean 'shape'"),
        ({"fields": {"obs": {"kind": "observation", "shape": [10**7, 100]}}}, "a step has more than"),
        ({"fields": {"obs": {"kind": "observation", "group": "red"}}}, "there are agents"),
        ({"fields": {"obs": {"kind": "observation", "dtype": "float99"}}}, "NumPy has no such type"),
        ({"fields": {"a": {"kind": "action", "n": 0}}}, "is not a number of choices"),
        ({"fields": {"obs": {"kind": "observation"}}}, "obs has the shape"),
    ],
)
def test_headers_of_strangers_are_refused(tmp_path, change, message):
    folder = tmp_path / "d"
    written(folder, steps([3]))
    header = json.loads((folder / "recording.json").read_text())
    (folder / "recording.json").write_text(json.dumps(header | change))
    with pytest.raises(ConfigError, match=message.replace("(", r"\(")):
        quality_of(open_data(folder))


def test_a_part_larger_than_any_that_is_written_is_not_read(tmp_path, monkeypatch):
    folder = tmp_path / "d"
    written(folder, steps([3]))
    monkeypatch.setattr("envs.recorded.recording.LARGEST_PART", 100)
    with pytest.raises(ConfigError, match="bytes of arrays, more than 100"):
        quality_of(open_data(folder))


def test_texts_are_no_numbers(tmp_path):
    folder = tmp_path / "d"
    written(folder, steps([3]))
    np.savez(folder / "0.npz", **(steps([3]) | {"reward": np.array([["a"]] * 4)}))
    with pytest.raises(ConfigError, match="reward has no numbers but <U1"):
        quality_of(open_data(folder))


def test_pickles_are_not_loaded(tmp_path):
    folder = tmp_path / "d"
    written(folder, steps([3]))
    bad = steps([3]) | {"obs": np.array([{}] * 4, dtype=object)}
    np.savez(folder / "0.npz", **bad)
    with pytest.raises(ConfigError, match="is damaged: Object arrays cannot be loaded"):
        quality_of(open_data(folder))


@pytest.mark.parametrize("place", ["", "nowhere"])
def test_no_data(tmp_path, monkeypatch, place):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError, match="there is no such folder"):
        open_data(place)
    (tmp_path / "empty").mkdir()
    with pytest.raises(ConfigError, match=r"it is no data set\. It needs recording\.json"):
        open_data("empty")


def test_infinite_bounds_are_plain_json():
    said = json.dumps(description().as_json(), allow_nan=False)
    assert described("x", json.loads(said)).spec.fields == FIELDS
