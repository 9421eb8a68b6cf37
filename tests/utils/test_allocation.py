"""Memory that is freed and wanted again."""

import subprocess
import sys

import pytest

SCRIPT = """
import resource
import torch as th
from utils.allocation import keep_freed_memory

def faults():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(5):
        th.empty(60 * 2**18).fill_(1)  # 60 MiB
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

faults()
before = faults()
kept = keep_freed_memory()
for _ in range(5):
    faults()
print(kept, before, faults())
"""


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="glibc's setting")
def test_large_tensors_come_from_memory_that_is_there():
    command = [sys.executable, "-c", "import sys; sys.path.insert(0, 'src')\n" + SCRIPT]
    kept, before, after = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    if kept == "False":
        pytest.skip("another C library")
    assert int(before) > 1000
    assert int(after) < int(before) / 100
