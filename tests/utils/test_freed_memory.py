"""Freed memory is given back to the system."""

import ctypes
import os

import numpy as np
import pytest

from utils.processes.freed_memory import FreedMemory

GLIBC = hasattr(ctypes.CDLL(None), "malloc_trim") if os.path.exists("/proc/self/statm") else False


def resident() -> int:
    """Bytes of this process in memory."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.skipif(not GLIBC, reason="glibc on Linux")
def test_gaps_between_what_stays_are_given_back():
    now = [0.0]
    freed = FreedMemory(every=30.0, clock=lambda: now[0])
    blocks = [np.ones(8000) for _ in range(1600)]  # 100 MB, too small for mappings of their own
    stays = blocks[::100]
    del blocks
    before = resident()
    assert not freed.give_back()
    assert before - resident() < 20e6
    now[0] = 31.0
    assert freed.give_back()
    assert before - resident() > 80e6
    assert not freed.give_back()
    assert all(block.sum() == 8000 for block in stays)


def test_another_c_library_is_left_alone(monkeypatch):
    monkeypatch.setattr(ctypes, "CDLL", lambda name: object())
    assert not FreedMemory(every=0.0).give_back()
