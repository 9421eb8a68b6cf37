"""Short slices of time: asked for on both sides, and given back."""

import ctypes
import os
import subprocess
from concurrent.futures import ThreadPoolExecutor

import pytest
from test_dots_c import COMPILER, SIMULATORS, needs_compiler

from dots_simulator import slices
from envs.dots import connecting


@pytest.fixture
def in_a_thread():
    """Call a function in a thread of its own: slices are a thread's."""
    with ThreadPoolExecutor(1) as pool:
        if pool.submit(slices.slice_nanoseconds).result() is None:
            pytest.skip("this system does not say how long slices are")
        yield lambda function, *given: pool.submit(function, *given).result()


def nanoseconds_of(pid):
    found = slices._ATTRIBUTES.pack(*[0] * 10)
    buffer = ctypes.create_string_buffer(found)
    number = slices._CALLS[os.uname().machine][1]
    assert ctypes.CDLL(None).syscall(number, pid, buffer, len(found), 0) == 0
    return slices._ATTRIBUTES.unpack(buffer.raw[: len(found)])[slices._RUNTIME]


def test_a_thread_takes_short_slices_and_gives_them_back(in_a_thread):
    before = in_a_thread(slices.slice_nanoseconds)
    assert in_a_thread(slices.take_short_slices) == before
    assert in_a_thread(slices.slice_nanoseconds) == slices.SHORT_NANOSECONDS
    assert in_a_thread(slices.take_short_slices) is None, "nothing to change"
    in_a_thread(slices.take_slices, before)
    assert in_a_thread(slices.slice_nanoseconds) == before


@pytest.fixture(params=["python", pytest.param("c", marks=needs_compiler)])
def simulator(request, tmp_path):
    if request.param == "python":
        return SIMULATORS / "basic.py"
    subprocess.run([COMPILER, "-O1", "-o", tmp_path / "basic", SIMULATORS / "c" / "basic.c"], check=True)
    return tmp_path / "basic"


def test_both_sides_of_a_session_have_them_while_it_lasts(in_a_thread, simulator, tmp_path):
    before = in_a_thread(slices.slice_nanoseconds)
    wanted = connecting.Wanted(str(simulator), protocol="0.3.2", folder=str(tmp_path))
    session = in_a_thread(connecting.connect, wanted)
    try:
        assert in_a_thread(slices.slice_nanoseconds) == slices.SHORT_NANOSECONDS
        assert nanoseconds_of(session.process.pid) == slices.SHORT_NANOSECONDS
    finally:
        in_a_thread(session.close)
    assert in_a_thread(slices.slice_nanoseconds) == before
