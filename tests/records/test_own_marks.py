"""Marks of own results: they hold for one folder, for what it was marked with, and for the user whose key it is."""

import os
import shutil

import pytest

from records import own_marks
from records.layout import LOCK, OWN
from records.own_marks import is_own, mark, state_folder
from records.run_folder import RunFolder


@pytest.fixture
def state(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state"


@pytest.fixture
def run(tmp_path, state):
    """A run's folder that is this user's own, for "one"."""
    folder = tmp_path / "results" / "runs" / "first"
    folder.mkdir(parents=True)
    mark(folder, "one")
    assert is_own(folder, "one")
    return folder


def test_the_key_is_outside_of_the_results_and_the_users_alone(state, run):
    key = state / "muster" / "key"
    assert (key.stat().st_mode & 0o777, key.stat().st_size) == (0o600, 32)
    assert (key.parent.stat().st_mode & 0o777) == 0o700
    assert key.read_bytes().hex() not in (run / OWN).read_text()


def test_settings_that_it_was_not_marked_with_are_not_its_own(run):
    assert not is_own(run, "two") and not is_own(run, "")
    mark(run, "two")
    mark(run, "two")
    assert is_own(run, "one") and is_own(run, "two")
    assert len((run / OWN).read_text().split()) == 2


def test_a_run_without_such_settings_is_not_marked(tmp_path, state):
    mark(tmp_path, "")
    assert not (tmp_path / OWN).exists() and not state.exists()


def test_a_copy_and_a_moved_folder_are_not_own(run):
    copy = run.with_name("second")
    shutil.copytree(run, copy)
    assert (copy / OWN).exists() and not is_own(copy, "one")
    run.rename(run.with_name("third"))
    assert not is_own(run.with_name("third"), "one")
    copy.rename(run)  # in its place
    assert not is_own(run, "one")


def test_another_name_of_the_same_folder_is_own(run, monkeypatch):
    (run.parents[2] / "link").symlink_to(run.parents[1])
    assert is_own(run.parents[2] / "link" / "runs" / "first", "one")
    monkeypatch.chdir(run)
    assert is_own(type(run)("."), "one")


def test_a_mark_with_another_users_key_counts_for_nothing(run, state):
    (state / "muster" / "key").write_bytes(os.urandom(32))
    assert not is_own(run, "one")
    (state / "muster" / "key").unlink()
    assert not is_own(run, "one")
    mark(run, "one")
    assert is_own(run, "one")


@pytest.mark.parametrize("spoil", ["readable", "short", "link", "folder"])
def test_a_key_that_others_may_have_is_not_used(run, state, spoil):
    key = state / "muster" / "key"
    if spoil == "readable":
        key.chmod(0o640)
    elif spoil == "short":
        key.write_bytes(b"x" * 31)
    else:
        key.rename(key.with_name("other"))
        key.symlink_to("other") if spoil == "link" else key.mkdir()
    assert not is_own(run, "one")
    mark(run, "two")  # nothing is written, and nothing fails
    assert not is_own(run, "two")


@pytest.mark.parametrize("where", ["file", "nowhere", "relative"])
def test_without_a_place_for_the_key_nothing_is_own(tmp_path, monkeypatch, where):
    if where == "file":
        (tmp_path / "file").write_text("")
        monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    else:
        monkeypatch.setenv("XDG_STATE_HOME", "state" if where == "relative" else "")
        monkeypatch.setattr(own_marks.os.path, "expanduser", lambda path: path)  # as where there is no home
        assert state_folder() is None
    monkeypatch.chdir(tmp_path)
    before = sorted(tmp_path.iterdir())
    mark(tmp_path, "one")
    assert not is_own(tmp_path, "one")
    assert sorted(tmp_path.iterdir()) == before


def test_marks_that_are_no_marks(run):
    (run / OWN).write_bytes(b"\xff" * 64)
    assert not is_own(run, "one")
    (run / OWN).unlink()
    os.symlink("/dev/zero", run / OWN)
    assert not is_own(run, "one")
    mark(run, "one")
    assert is_own(run, "one") and not (run / OWN).is_symlink()
    assert not is_own(run / "missing", "one")
    mark(run / "missing", "one")


def test_a_run_that_kept_nothing_leaves_no_mark(tmp_path, state):
    folder = RunFolder(tmp_path, "first", statements={"one", ""})
    folder.create()
    assert {path.name for path in folder.path.iterdir()} == {LOCK, OWN}
    assert is_own(folder.path, "one")
    folder.close()
    assert folder.remove_unused()
