"""Files that are whole at every moment."""

import os
import stat

import pytest

from helpers import fill_disk, small_disk
from utils.files.whole_files import set_aside, write_whole


def test_a_whole_file_or_the_old_one(tmp_path, monkeypatch):
    path = tmp_path / "file"
    write_whole(str(path), b"old")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    with small_disk(tmp_path / "disk") as disk:
        write_whole(str(disk / "file"), b"old" * 10)
        fill_disk(disk)
        with pytest.raises(OSError, match="No space left"):
            write_whole(str(disk / "file"), b"new" * 10_000)
        assert (disk / "file").read_bytes() == b"old" * 10
        assert sorted(os.listdir(disk)) == ["file", "filler"]
    write_whole(str(path), b"new")
    assert path.read_bytes() == b"new"
    assert os.listdir(tmp_path) in (["file", "disk"], ["disk", "file"])


def test_setting_aside_overwrites_nothing(tmp_path):
    for content in ("0", "1"):
        (tmp_path / "file").write_text(content)
        set_aside(str(tmp_path / "file"))
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"file.1": "0", "file.2": "1"}


def test_two_machines_whose_processes_have_the_same_number_write_one_file(tmp_path, monkeypatch):
    """The other machine's process begins and ends while this one's content waits for its name."""
    path, replace = tmp_path / "source.py", os.replace

    def other_first(unfinished, name):
        monkeypatch.setattr(os, "replace", replace)
        write_whole(str(path), b"theirs")
        replace(unfinished, name)

    monkeypatch.setattr(os, "replace", other_first)
    write_whole(str(path), b"ours")
    assert os.listdir(tmp_path) == ["source.py"] and path.read_bytes() == b"ours"
