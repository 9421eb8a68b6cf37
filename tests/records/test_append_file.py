"""Files that only grow, on disks that are full and in folders that vanish."""

import errno
import logging
import os
import shutil
import stat
import zlib

import pytest

from helpers import fill_disk, small_disk
from records import fault_notice
from records.append_file import AppendFile

CONSOLE = logging.getLogger("test")


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    monkeypatch.setattr(fault_notice, "RETRY_SECONDS", 0.0)


def _file(path, **options):
    return AppendFile(str(path), "The file", CONSOLE, **options)


def test_chunks_in_their_order_for_the_user_alone(tmp_path):
    path = tmp_path / "run" / "file"
    file = _file(path, head=b"head\n")
    assert not path.parent.exists()
    file.append(b"one\n")
    file.append(b"two\n")
    assert path.read_bytes() == b"head\none\ntwo\n"
    assert (file.size, file.crc32) == (13, zlib.crc32(b"head\none\ntwo\n"))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_one_write_a_chunk(tmp_path, monkeypatch):
    written = []
    write = os.write
    monkeypatch.setattr(os, "write", lambda fd, data: written.append(bytes(data)) or write(fd, data))
    file = _file(tmp_path / "file", head=b"head\n")
    file.append(b"one\n")
    file.append(b"two\n")
    assert written == [b"head\n", b"one\n", b"two\n"]


def test_a_full_disk_loses_and_tears_nothing(tmp_path, caplog):
    caplog.set_level("INFO")
    with small_disk(tmp_path / "disk") as disk:
        file = _file(disk / "file")
        chunk = b"0123456789abcde\n" * 63  # 1008 bytes: does not divide a page
        file.append(chunk)
        filler = fill_disk(disk)
        for _ in range(10):  # the first ones still fit the unfinished page
            file.append(chunk)
        content = (disk / "file").read_bytes()
        assert len(content) == file.size < 11 * len(chunk)
        assert content == chunk * (len(content) // len(chunk)), "no chunk is torn"
        (warning,) = caplog.messages
        assert "No space left on device" in warning
        assert str(disk / "file") in warning
        filler.unlink()
        file.append(chunk)
        assert (disk / "file").read_bytes() == chunk * 12
        assert caplog.messages[1:] == [f"The file {disk / 'file'} can be written again; nothing is missing in it."]
        fill_disk(disk)
        for _ in range(10):
            file.append(chunk)
        assert len(caplog.messages) == 3, "reported again, as it had recovered"


def test_between_tries_chunks_wait(tmp_path, monkeypatch):
    monkeypatch.setattr(fault_notice, "RETRY_SECONDS", 3600.0)
    tries = []

    def full(fd, data):
        tries.append(1)
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    file = _file(tmp_path / "file")
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", full)
        for i in range(5):
            file.append(b"%d\n" % i)
        assert len(tries) == 1
        assert not file.flush()
        assert len(tries) == 2
    file.append(b"5\n")
    assert (tmp_path / "file").read_bytes() == b""
    assert file.flush()
    assert (tmp_path / "file").read_bytes() == b"0\n1\n2\n3\n4\n5\n"


def test_an_hour_of_failures_ends_the_file(tmp_path, monkeypatch, caplog):
    now = [0.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    file = _file(tmp_path / "file")
    file.append(b"one\n")

    def full(fd, data):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", full)
        for now[0] in (10.0, 3600.0, 3609.0):
            file.append(b"more\n")
        assert (file.pending, len(caplog.messages)) == (b"more\n" * 3, 1)
        now[0] = 3611.0
        file.append(b"more\n")
    assert file.pending == b"", "nothing is kept that will never be written"
    assert caplog.messages[1:] == [
        f"The file {tmp_path / 'file'} is given up: No space left on device. The run continues; nothing more is "
        "written there."
    ]
    file.append(b"more\n")
    assert not file.flush()
    assert (file.pending, (tmp_path / "file").read_bytes()) == (b"", b"one\n")
    assert len(caplog.messages) == 2


def test_patience_restarts_after_a_success(tmp_path, monkeypatch):
    now = [0.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    file = _file(tmp_path / "file")
    for now[0] in (0.0, 3000.0, 6000.0):
        with monkeypatch.context() as patch:
            patch.setattr(os, "open", lambda *_: (_ for _ in ()).throw(OSError(errno.EROFS, "read-only")))
            file.append(b"x\n")
        now[0] += 100
        file.append(b"y\n")
    assert (tmp_path / "file").read_bytes() == b"x\ny\n" * 3


@pytest.mark.parametrize("how", ["folder", "file", "replaced"])
def test_a_removed_file_is_given_up(tmp_path, caplog, how):
    path = tmp_path / "run" / "file"
    file = _file(path)
    file.append(b"one\n")
    if how == "folder":
        shutil.rmtree(path.parent)
    elif how == "file":
        path.unlink()
    else:
        (tmp_path / "other").write_bytes(b"somebody's")
        os.replace(tmp_path / "other", path)
    for _ in range(3):
        file.append(b"two\n")
    assert not file.flush()
    assert caplog.messages == [
        f"The file {path} is given up: it was removed. The run continues; nothing more is written there."
    ]
    assert path.read_bytes() == b"somebody's" if how == "replaced" else not path.exists()


def test_another_file_of_that_name_is_kept(tmp_path):
    for i in range(2):
        _file(tmp_path / "file").append(b"%d\n" % i)
    _file(tmp_path / "file").append(b"2\n")
    assert {p.name: p.read_bytes() for p in tmp_path.iterdir()} == {"file": b"2\n", "file.1": b"0\n", "file.2": b"1\n"}
