"""The trainer's sealed header: used by simulators that can open it, and only if it belongs to the first file."""

import os

import pytest

from dots_simulator import sealed
from dots_simulator.files import map_existing
from dots_simulator.layout import LayoutError, first_header


@pytest.fixture
def path(tmp_path):
    """Of a first file, with a sealed header beside it."""
    path = tmp_path / "memory"
    path.write_bytes(first_header())
    descriptors = []

    def offer(whose):
        descriptors.append(os.memfd_create("header"))
        os.write(descriptors[-1], first_header().ljust(sealed.WHOSE, b"\0") + whose)
        link = tmp_path / "memory.sealed"
        link.unlink(missing_ok=True)
        link.symlink_to(f"/proc/{os.getpid()}/fd/{descriptors[-1]}")
        return descriptors[-1]

    offer(sealed.whose(path.stat()))
    path.with_name("memory.sealed").stat()
    yield path, offer
    for one in descriptors:
        os.close(one)


def is_plain(path):
    """Whether what a simulator writes appears in the first file."""
    sealed.map_header(path)[13] = 7
    return path.read_bytes()[13] == 7


def test_a_simulator_uses_the_sealed_header(path):
    path, offer = path
    descriptor = offer(sealed.whose(path.stat()))
    assert not is_plain(path)
    assert os.pread(descriptor, 1, 13) == b"\7"


def test_without_one_it_uses_the_first_file(path):
    path, _ = path
    (path.parent / "memory.sealed").unlink()
    assert is_plain(path)


def test_one_of_another_first_file_is_not_used(path):
    path, offer = path
    other = path.with_name("other")
    other.write_bytes(first_header())
    for whose in (sealed.whose(other.stat()), bytes(16), b"short"):
        offer(whose)
        assert is_plain(path)


def test_a_descriptor_that_is_closed_is_not_used(path):
    path, offer = path
    os.close(closed := os.dup(offer(b"")))
    link = path.with_name("memory.sealed")
    link.unlink()
    link.symlink_to(f"/proc/{os.getpid()}/fd/{closed}")
    assert is_plain(path)


def test_no_other_links_are_followed(path):
    path, _ = path
    link, target = path.with_name("link"), path.with_name("target")
    target.write_bytes(bytes(100))
    for where in (target, f"/proc/{os.getpid()}/fd/../cwd/{target}", "/proc/self/fd/0"):
        link.unlink(missing_ok=True)
        link.symlink_to(where)
        with pytest.raises(OSError, match="symbolic links"):
            map_existing(link, 10)
    with pytest.raises(LayoutError, match="has 48 bytes; its header says 100"):
        map_existing(path.with_name("memory.sealed"), 100)
