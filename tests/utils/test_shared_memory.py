"""Memory that two processes see."""

import errno
import os
import stat

import numpy as np
import pytest

from helpers import small_disk
from utils.processes.child_process import CONTEXT, ChildProcess
from utils.processes.shared_memory import NamedMemory, NamelessMemory, map_file

pytestmark = pytest.mark.slow

SIZE = 4096


def double(path, pipe):
    """Double every number in the file, on command."""
    numbers = np.frombuffer(map_file(path), dtype=np.int32)
    pipe.send(len(numbers))
    pipe.recv()
    numbers *= 2
    pipe.send("done")


def fill(memory, pipe):
    numbers = np.frombuffer(memory.map(), dtype=np.int32)
    memory.close()
    numbers[:] = 7
    pipe.send("done")


def test_another_process_maps_the_file_by_its_name(tmp_path):
    with NamedMemory(tmp_path / "simulator.shm", SIZE) as memory:
        numbers = np.frombuffer(memory.buffer, dtype=np.int32)
        assert not numbers.any()
        ours, theirs = CONTEXT.Pipe()
        child = ChildProcess(double, (memory.path, theirs), "test")
        assert ours.recv() == SIZE // 4
        numbers[:] = np.arange(SIZE // 4)
        ours.send("go")
        assert ours.recv() == "done"
        child.end()
        np.testing.assert_array_equal(numbers, 2 * np.arange(SIZE // 4))
    assert os.listdir(tmp_path) == []
    assert numbers[3] == 6, "an array that shows it lives on"


def test_the_file_is_new_whole_and_the_users_own(tmp_path):
    memory = NamedMemory(tmp_path / "memory", SIZE)
    status = memory.path.stat()
    assert (status.st_size, stat.S_IMODE(status.st_mode)) == (SIZE, 0o600)
    assert status.st_blocks * 512 >= SIZE, "the pages are there, before anybody writes into one"
    with pytest.raises(FileExistsError):
        NamedMemory(tmp_path / "memory", SIZE)
    memory.buffer[:5] = b"still"
    assert memory.path.read_bytes()[:5] == b"still", "the one that was there is untouched"
    memory.close()
    memory.close()
    assert os.listdir(tmp_path) == []


def test_a_link_in_its_place_is_not_followed(tmp_path):
    (tmp_path / "precious").write_bytes(b"precious")
    (tmp_path / "memory").symlink_to(tmp_path / "precious")
    with pytest.raises(FileExistsError):
        NamedMemory(tmp_path / "memory", SIZE)
    assert (tmp_path / "precious").read_bytes() == b"precious"
    with pytest.raises(OSError) as error:
        map_file(tmp_path / "memory")
    assert error.value.errno == errno.ELOOP


def test_where_there_is_no_room_nothing_is_left(tmp_path):
    with small_disk(tmp_path / "disk", "64k") as disk:
        with pytest.raises(OSError, match="No space left"):
            NamedMemory(disk / "memory", 2**20)
        assert os.listdir(disk) == []


def test_an_unclosed_file_goes_with_its_owner(tmp_path):
    memory = NamedMemory(tmp_path / "memory", SIZE)
    del memory
    assert os.listdir(tmp_path) == []


def test_a_child_shares_memory_that_has_no_name():
    memory = NamelessMemory("test")
    memory.grow(SIZE)
    numbers = np.frombuffer(memory.map(), dtype=np.int32)
    ours, theirs = CONTEXT.Pipe()
    child = ChildProcess(fill, (memory, theirs), "test")
    memory.close()
    assert ours.recv() == "done"
    child.end()
    assert (numbers == 7).all()
