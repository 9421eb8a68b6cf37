"""Of all that may lie at a path, only regular files of an expected size are opened."""

import os
import socket
from pathlib import Path

import pytest

from utils.files.regular_files import open_regular, read_regular

LARGEST = 1000


def pipe(path):
    os.mkfifo(path)


def endless(path):
    path.symlink_to("/dev/zero")


def link(path):
    path.with_name("secret.json").write_text('{"secret": 1}')
    path.symlink_to("secret.json")


def dangling(path):
    path.symlink_to("nowhere")


def circle(path):
    path.symlink_to(path.name)


def listening(path):
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(os.path.relpath(path))


def oversized(path):
    path.write_bytes(b"x" * (LARGEST + 1))


def sparse(path):
    with open(path, "wb") as file:
        file.truncate(2**40)


KINDS = {
    pipe: "not a regular file but a pipe",
    endless: "not a regular file but a link",
    link: "not a regular file but a link",
    dangling: "not a regular file but a link",
    circle: "not a regular file but a link",
    listening: "not a regular file but a socket",
    Path.mkdir: "not a regular file but a folder",
    oversized: "it is 1001 bytes long, longer than 1000 bytes",
    sparse: "it is 1.0 TiB long, longer than 1000 bytes",
}


@pytest.mark.timeout(10)
@pytest.mark.parametrize(("make", "why"), KINDS.items(), ids=lambda value: getattr(value, "__name__", ""))
def test_anything_else_is_refused_in_a_sentence(tmp_path, monkeypatch, make, why):
    monkeypatch.chdir(tmp_path)
    make(tmp_path / "run.json")
    with pytest.raises(OSError) as refused:
        read_regular(tmp_path / "run.json", LARGEST)
    assert why in refused.value.strerror


@pytest.mark.parametrize("path", ["/dev/zero", "/dev/stdin"])
def test_devices_are_no_files(path):
    with pytest.raises(OSError, match="not a regular file but"):
        read_regular(path, LARGEST)


def test_regular_files_are_read(tmp_path):
    path = tmp_path / "run.json"
    path.write_bytes(b"x" * LARGEST)
    assert read_regular(path, LARGEST) == b"x" * LARGEST
    (tmp_path / "link").symlink_to("run.json")
    assert read_regular(tmp_path / "link", LARGEST, follow_links=True) == b"x" * LARGEST
    with open_regular(path) as file:
        file.seek(LARGEST - 1)
        assert file.read() == b"x"
    with pytest.raises(FileNotFoundError):
        read_regular(tmp_path / "missing", LARGEST)
    with pytest.raises(OSError):
        read_regular("a\0b", LARGEST)
