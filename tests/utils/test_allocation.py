"""Memory that is freed: kept for what is wanted next, and given back to the system now and then."""

import ctypes
import os
import resource

import numpy as np
import pytest
import torch as th

from forked import start_forked
from utils.processes.allocation import FreedMemory, keep_freed_memory

GLIBC = hasattr(ctypes.CDLL(None), "malloc_trim") if os.path.exists("/proc/self/statm") else False
needs_glibc = pytest.mark.skipif(not GLIBC, reason="glibc on Linux")


def _faults():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(5):
        th.empty(60 * 2**18).fill_(1)  # 60 MiB
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before


def _measure(file):
    _faults()
    before = _faults()
    assert keep_freed_memory()
    for _ in range(5):
        _faults()
    file.write_text(f"{before} {_faults()}")


@pytest.mark.slow
@needs_glibc
def test_large_tensors_come_from_memory_that_is_there(tmp_path):
    """In a process of its own: the setting stays."""
    process = start_forked(_measure, tmp_path / "faults")
    process.join(60)
    before, after = map(int, (tmp_path / "faults").read_text().split())
    assert before > 1000
    assert after < before / 100


def resident() -> int:
    """Bytes of this process in memory."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@needs_glibc
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
    assert not keep_freed_memory()
