"""Arrays from files of others."""

import struct
import tracemalloc

import numpy as np
import pytest

from utils.files.npy_files import read_npy


def with_header(shape, descr="<f8", data=b"1234567812345678"):
    header = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}".encode()
    header += b" " * (-(len(header) + 11) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + data


@pytest.mark.parametrize("dtype", ["float64", "int16", "uint8"])
def test_an_array_is_read_as_it_was_written(tmp_path, dtype):
    array = np.arange(24, dtype=dtype).reshape(2, 3, 4).transpose(1, 0, 2)
    np.save(tmp_path / "a.npy", array)
    found = read_npy(tmp_path / "a.npy", 10_000)
    assert type(found) is np.ndarray and found.dtype == array.dtype and (found == array).all()
    found[0, 0, 0] = 1  # it is not the file


@pytest.mark.parametrize("shape", ["(100000000, 2)", "(10**9,)", "(2**63, 4)", f"({2**62}, 4)", f"({2**70},)", "(3,)"])
def test_a_header_that_promises_more_than_there_is_allocates_nothing(tmp_path, shape):
    path = tmp_path / "a.npy"
    path.write_bytes(with_header(shape))
    tracemalloc.start()
    try:
        with pytest.raises(ValueError):
            read_npy(path, 10_000)
        assert tracemalloc.get_traced_memory()[1] < 10_000_000
    finally:
        tracemalloc.stop()


def test_other_files_are_refused(tmp_path):
    path = tmp_path / "a.npy"
    for content in (b"", b"text", with_header("(1,)", "|O")):
        path.write_bytes(content)
        with pytest.raises(ValueError):
            read_npy(path, 10_000)
    np.savez(tmp_path / "b.npz", a=np.ones(3))
    with pytest.raises(ValueError, match="archive"):
        read_npy(tmp_path / "b.npz", 10_000)
    np.save(path, np.ones(1000))
    with pytest.raises(OSError, match="longer"):
        read_npy(path, 1000)
    with pytest.raises(OSError):
        read_npy(tmp_path / "missing.npy", 1000)
