"""A checkpoint is whole, or it is recognised as one that is not."""

import json
import os
import shutil
import stat

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checkpoints.errors import CheckpointError
from checkpoints.folder import NewFolder, read_manifest, verify
from checkpoints.store import checkpoints_of, newest_checkpoint, prune, settled
from records.layout import MANIFEST

FIGURES = {"number": 1, "t_env": 400, "token": "run_1", "config": {"a": 1}}


@pytest.fixture
def tmp_path(tmp_path):
    """The folder of the run that is called run_1."""
    run = tmp_path / "run_1"
    run.mkdir()
    return run


def written(root, number=1, files=(("state.th", b"x" * 100), ("buffer-0-2.bin", b"y" * 50)), **figures):
    folder = NewFolder(root / "checkpoints" / str(figures.get("t_env", 400 * number)), root.name)
    for name, data in files:
        with folder.new_file(name) as file:
            file.write(data)
    folder.finish({**FIGURES, "t_env": 400 * number, **figures, "number": number})
    return root / "checkpoints" / str(figures.get("t_env", 400 * number))


def test_a_folder_appears_when_it_is_whole(tmp_path):
    folder = NewFolder(tmp_path / "checkpoints" / "400", "run_1")
    with folder.new_file("state.th") as file:
        file.write(b"abc")
    (folder.path / "agent.th").write_bytes(b"others wrote this")
    assert checkpoints_of(tmp_path) == ([], [])
    folder.take_all()
    folder.finish(FIGURES)
    (found,), problems = checkpoints_of(tmp_path)
    assert problems == []
    assert set(found.manifest["files"]) == {"state.th", "agent.th"}
    # of "abc", by another program
    assert found.manifest["files"]["state.th"] == {
        "bytes": 3,
        "sha256": "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
    }
    verify(found.folder, found.manifest)
    assert os.listdir(tmp_path / "checkpoints") == ["400"]


def test_it_is_the_users_own(tmp_path):
    folder = written(tmp_path)
    for path in (folder, *folder.iterdir()):
        assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0, path


def test_the_same_step_again_replaces(tmp_path):
    written(tmp_path, number=1, t_env=400)
    folder = written(tmp_path, number=2, t_env=400, files=[("state.th", b"new")])
    assert os.listdir(folder.parent) == ["400"]
    assert read_manifest(folder)["number"] == 2
    assert (folder / "state.th").read_bytes() == b"new"


def test_files_of_an_older_checkpoint_are_shared(tmp_path):
    old = written(tmp_path, number=1)
    entry = read_manifest(old)["files"]["buffer-0-2.bin"]
    new = NewFolder(tmp_path / "checkpoints" / "800", "run_1")
    new.link(old / "buffer-0-2.bin", entry)
    new.finish({**FIGURES, "number": 2, "t_env": 800})
    place = tmp_path / "checkpoints" / "800"
    assert (place / "buffer-0-2.bin").stat().st_ino == (old / "buffer-0-2.bin").stat().st_ino
    verify(place, read_manifest(place))


def torn(path):
    path.write_bytes(path.read_bytes()[:-1])


def tampered(path):
    data = bytearray(path.read_bytes())
    data[7] ^= 1
    path.write_bytes(data)


@pytest.mark.parametrize(
    ("damage", "file", "told"),
    [
        (torn, "state.th", "has 99 bytes instead of 100: it is truncated"),
        (tampered, "state.th", "its checksum differs"),
        (tampered, "buffer-0-2.bin", "its checksum differs"),
        (lambda path: path.unlink(), "buffer-0-2.bin", "is missing"),
        (torn, MANIFEST, "torn or damaged"),
        (lambda path: path.unlink(), MANIFEST, "was not finished"),
        (lambda path: (path.unlink(), path.symlink_to("/etc/hostname")), "state.th", "not a regular file but a link"),
        (lambda path: (path.unlink(), os.mkfifo(path)), "buffer-0-2.bin", "not a regular file but a pipe"),
    ],
)
def test_the_one_before_a_damaged_one_is_used(tmp_path, damage, file, told):
    old, new = written(tmp_path, number=1), written(tmp_path, number=2)
    assert newest_checkpoint(tmp_path)[0].folder == new
    damage(new / file)
    found, problems = newest_checkpoint(tmp_path)
    assert found.folder == old
    (problem,) = problems
    assert told in problem
    assert str(new) in problem
    damage(old / file)
    with pytest.raises(CheckpointError, match="no valid checkpoint") as error:
        newest_checkpoint(tmp_path)
    assert str(old) in str(error.value)


@pytest.mark.parametrize("unfinished", [".800.run_1.tmp", ".800.run_1.replaced"])
def test_a_checkpoint_that_was_whole_before_it_had_its_name(tmp_path, unfinished):
    """The run was killed between the last two renames."""
    written(tmp_path, number=1)
    os.rename(written(tmp_path, number=2), tmp_path / "checkpoints" / unfinished)
    found, problems = newest_checkpoint(tmp_path)
    assert (found.number, problems) == (2, [])
    found = settled(found)
    assert sorted(os.listdir(tmp_path / "checkpoints")) == ["400", "800"]
    assert found.folder == tmp_path / "checkpoints" / "800"
    verify(found.folder, found.manifest)
    assert settled(found) == found


def test_a_run_without_checkpoints_says_how_they_come_about(tmp_path):
    with pytest.raises(CheckpointError, match="checkpoint_interval"):
        newest_checkpoint(tmp_path)


def test_the_newest_and_the_best_stay(tmp_path):
    for number, value in enumerate([0.1, 0.9, float("nan"), 0.9, 0.3, None, 0.2], start=1):
        written(tmp_path, number=number, test_return_mean=value)
    (tmp_path / "checkpoints" / ".2800.run_1.tmp").mkdir()
    prune(tmp_path, keep=2)
    found, problems = checkpoints_of(tmp_path)
    assert [checkpoint.number for checkpoint in found] == [7, 6, 4]
    assert problems == []
    assert sorted(os.listdir(tmp_path / "checkpoints")) == ["1600", "2400", "2800"]


def test_foreign_files_stay(tmp_path):
    """A user's copy and notes, another run's checkpoint, a file, links: neither removed nor counted."""
    checkpoints = tmp_path / "checkpoints"
    for number in (1, 2, 3, 4):
        written(tmp_path, number=number)
    shutil.copytree(checkpoints / "800", checkpoints / "500_my_backup")
    shutil.copytree(checkpoints / "800", checkpoints / "5000")
    written(tmp_path, number=9, t_env=9000, token="another_run")
    (checkpoints / "notes").mkdir()
    (checkpoints / "77").mkdir()
    (checkpoints / "77" / "mine.txt").write_text("x")
    (checkpoints / ".88.tmp").mkdir()
    (checkpoints / "3000").symlink_to(checkpoints / "400")
    (checkpoints / "readme").write_text("x")
    prune(tmp_path, keep=1)
    others = ["500_my_backup", "5000", "9000", "notes", "77", ".88.tmp", "3000", "readme"]
    assert sorted(os.listdir(checkpoints)) == sorted([*others, "1600"])
    assert os.listdir(checkpoints / "500_my_backup") == os.listdir(checkpoints / "1600")
    _, problems = checkpoints_of(tmp_path)
    assert any("5000 is a checkpoint of step 800 under another name" in problem for problem in problems)
    assert any("3000 is a link" in problem for problem in problems)


def test_a_link_to_another_runs_checkpoints_is_not_followed(tmp_path):
    other = tmp_path.parent / "run_2"
    for number in (1, 2, 3):
        written(other, number=number, token="run_2")
    (tmp_path / "checkpoints").symlink_to(other / "checkpoints")
    prune(tmp_path, keep=1)
    assert sorted(os.listdir(other / "checkpoints")) == ["1200", "400", "800"]
    with pytest.raises(CheckpointError, match="checkpoints is a link"):
        newest_checkpoint(tmp_path)
    with pytest.raises(OSError, match="is a link"):
        written(tmp_path, number=4)
    assert sorted(os.listdir(other / "checkpoints")) == ["1200", "400", "800"]
    linked = tmp_path.parent / "run_3"
    linked.symlink_to(other)
    with pytest.raises(CheckpointError, match="run_3 is a link"):
        newest_checkpoint(linked)


def test_a_folder_in_the_place_of_a_checkpoint_is_set_aside(tmp_path):
    mine = tmp_path / "checkpoints" / "400"
    mine.mkdir(parents=True)
    (mine / "mine.txt").write_text("x")
    written(tmp_path, number=1)
    assert sorted(os.listdir(tmp_path / "checkpoints")) == ["400", "400.1"]
    assert (tmp_path / "checkpoints" / "400.1" / "mine.txt").read_text() == "x"


@pytest.mark.slow
def test_every_digit_of_a_manifest_is_protected(tmp_path):
    """A manifest with one byte changed is refused, or has the same content."""
    folder = written(tmp_path, config={"lr": 0.0005, "name": "qmix"})
    whole = (folder / MANIFEST).read_bytes()
    manifest, refused = read_manifest(folder), 0
    for place, byte in enumerate(whole):
        for other in {byte ^ 1, ord("7"), ord(" ")} - {byte}:
            (folder / MANIFEST).write_bytes(whole[:place] + bytes([other]) + whole[place + 1 :])
            try:
                assert read_manifest(folder) == manifest
            except CheckpointError:
                refused += 1
    assert refused > 2 * len(whole)


def test_a_manifest_with_another_learning_rate_falls_back_and_is_named(tmp_path):
    old, new = written(tmp_path, number=1), written(tmp_path, number=2, config={"lr": 0.0005})
    path = new / MANIFEST
    path.write_text(path.read_text().replace("0.0005", "0.0006"))
    found, problems = newest_checkpoint(tmp_path)
    assert found.folder == old
    assert problems == [f"{path} has changed since it was written: its checksum differs."]


@pytest.mark.parametrize(
    "change",
    [
        {"format": 1},
        {"number": "1"},
        {"number": True},
        {"config": []},
        {"token": "../../etc"},
        {"token": ".."},
        {"files": {"../state.th": {"bytes": 1, "sha256": ""}}},
        {"files": {"/etc/passwd": {"bytes": 1, "sha256": ""}}},
        {"files": {"state.th": {"bytes": "1", "sha256": ""}}},
        {"files": {"state.th": None}},
    ],
)
def test_manifests_that_are_none(tmp_path, change):
    folder = written(tmp_path)
    manifest = json.loads((folder / MANIFEST).read_text())
    (folder / MANIFEST).write_text(json.dumps({**manifest, **change}))
    with pytest.raises(CheckpointError, match=r"manifest\.json is not a valid manifest"):
        read_manifest(folder)


def test_a_huge_manifest_is_not_read(tmp_path):
    folder = written(tmp_path)
    with (folder / MANIFEST).open("r+b") as file:
        file.truncate(10**10)
    with pytest.raises(CheckpointError, match="longer than 16777216 bytes"):
        read_manifest(folder)


@given(st.binary(max_size=200), st.integers(0, 600), st.booleans())
def test_any_bytes_in_a_manifest(tmp_path_factory, data, position, over):
    """They are an error with a name, or a manifest whose files are checked."""
    root = tmp_path_factory.mktemp("run")
    folder = written(root)
    whole = (folder / MANIFEST).read_bytes()
    end = position + len(data) if over else position
    (folder / MANIFEST).write_bytes(whole[:position] + data + whole[end:])
    try:
        newest_checkpoint(root)
    except CheckpointError as error:
        assert str(folder) in str(error)


def test_a_manifest_that_is_a_pipe_is_not_waited_for(tmp_path):
    folder = written(tmp_path)
    (folder / MANIFEST).unlink()
    os.mkfifo(folder / MANIFEST)
    with pytest.raises(CheckpointError, match="not a regular file"):
        read_manifest(folder)


@pytest.mark.parametrize(
    ("figures", "problem"),
    [
        ({"token": "../x"}, "not a valid name of a run"),
        ({"token": "-rf"}, "not a valid name of a run"),
        ({"config": {"py/object": "os.system"}}, "its config is invalid"),
        ({"config": {"seed": 2**70}}, "its config is invalid"),
    ],
)
def test_a_manifest_with_hostile_figures(tmp_path, figures, problem):
    with pytest.raises(CheckpointError, match=problem):
        read_manifest(written(tmp_path, **figures))
