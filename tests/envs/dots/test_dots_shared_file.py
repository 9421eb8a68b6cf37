"""Files that the trainer maps: nobody can make them shorter."""

import contextlib
import fcntl
import os
import stat

import pytest

from dots_simulator.files import map_existing
from envs.dots.shared_file import SealedFile, SharedFile


@pytest.fixture
def file(tmp_path):
    file = SealedFile.create(tmp_path / "file", b"abc", 5000)
    yield file
    file.close()


def test_it_has_its_content_and_zeros_and_is_this_users_only(file):
    assert file[0:5] == file.peek(5) == b"abc\0\0" and len(file) == 5000
    about = os.stat(file.path)
    assert about.st_size == 5000 and stat.S_IMODE(about.st_mode) == 0o600
    assert not os.get_inheritable(file.descriptor)


def test_nobody_can_change_its_size_or_take_the_seals_away(file):
    with open(file.path, "r+b") as theirs:
        for size in (0, 4999, 5001, 10_000):
            with pytest.raises(PermissionError):
                os.ftruncate(theirs.fileno(), size)
            with pytest.raises(PermissionError):
                os.truncate(file.path, size)
        with pytest.raises(PermissionError):
            fcntl.fcntl(theirs, fcntl.F_ADD_SEALS, fcntl.F_SEAL_WRITE)
    # emptying the file by opening it
    with contextlib.suppress(PermissionError), open(file.path, "wb"):
        pass
    assert file.memory[:3] == b"abc" and file.memory[4999] == 0


def test_both_sides_see_what_the_other_writes(file):
    theirs = map_existing(file.path, 5000)
    number = file.number(101)
    theirs[101:105] = (-7).to_bytes(4, "little", signed=True)
    assert number[0] == -7
    file.write(4996, b"last")
    assert theirs[4996:] == b"last"


def test_its_numbers_outlive_it(file):
    number = file.number(0)
    file.close()
    file.close()
    assert number[0] == int.from_bytes(b"abc", "little")


def test_something_in_its_place_is_no_leak(tmp_path):
    (tmp_path / "file").write_bytes(b"")
    before = len(os.listdir("/proc/self/fd"))
    with pytest.raises(FileExistsError):
        SealedFile.create(tmp_path / "file", b"abc")
    assert len(os.listdir("/proc/self/fd")) == before


def test_a_system_without_them_says_so(tmp_path, monkeypatch):
    monkeypatch.delattr(os, "memfd_create")
    with pytest.raises(OSError, match="not implemented"):
        SealedFile.create(tmp_path / "file", b"abc")
    assert SharedFile.create(tmp_path / "file", b"abc")[0:3] == b"abc"
