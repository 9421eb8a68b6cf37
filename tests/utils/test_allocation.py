"""Memory that is freed and wanted again."""

import resource
import sys

import pytest
import torch as th

from forked import start_forked
from utils.processes.allocation import keep_freed_memory


def _faults():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(5):
        th.empty(60 * 2**18).fill_(1)  # 60 MiB
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before


def _measure(file):
    _faults()
    before = _faults()
    kept = keep_freed_memory()
    for _ in range(5):
        _faults()
    file.write_text(f"{kept} {before} {_faults()}")


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="glibc's setting")
def test_large_tensors_come_from_memory_that_is_there(tmp_path):
    """In a process of its own: the setting stays."""
    process = start_forked(_measure, tmp_path / "faults")
    process.join(60)
    kept, before, after = (tmp_path / "faults").read_text().split()
    if kept == "False":
        pytest.skip("another C library")
    assert int(before) > 1000
    assert int(after) < int(before) / 100
