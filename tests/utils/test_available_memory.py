"""Free memory, read from a copy of the files that Linux has."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch as th

from utils.errors import MusterError
from utils.processes.available_memory import available_memory, memory_errors_explained, require_memory
from utils.tensors.devices import device_memory

SRC = Path(__file__).resolve().parents[2] / "src"


def write(root, files):
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


MACHINE = {"proc/meminfo": "MemTotal:  9000 kB\nMemFree:  1000 kB\nMemAvailable:    4000 kB\n"}
GROUP_1 = "sys/fs/cgroup/memory/job"
GROUP_2 = "sys/fs/cgroup/jobs/mine"


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({}, None),
        (MACHINE, 4000 * 1024),
        # version 1, without a limit and with one
        (
            MACHINE
            | {
                "proc/self/cgroup": "5:cpu,cpuacct:/\n4:memory:/job\n",
                f"{GROUP_1}/memory.limit_in_bytes": "9223372036854771712\n",
                f"{GROUP_1}/memory.usage_in_bytes": "1000\n",
            },
            4000 * 1024,
        ),
        (
            MACHINE
            | {
                "proc/self/cgroup": "5:cpu,cpuacct:/\n4:memory:/job\n",
                f"{GROUP_1}/memory.limit_in_bytes": "5000\n",
                f"{GROUP_1}/memory.usage_in_bytes": "3000\n",
                f"{GROUP_1}/memory.stat": "inactive_file 1\ntotal_inactive_file 500\n",
            },
            2500,
        ),
        # version 2: the group's own limit, and a lower one above it
        (
            MACHINE
            | {
                "proc/self/cgroup": "0::/jobs/mine\n",
                f"{GROUP_2}/memory.max": "max\n",
                f"{GROUP_2}/memory.current": "3000\n",
                "sys/fs/cgroup/jobs/memory.max": "5000\n",
                "sys/fs/cgroup/jobs/memory.current": "4000\n",
                "sys/fs/cgroup/jobs/memory.stat": "anon 4\ninactive_file 200\n",
            },
            1200,
        ),
        # a container, whose path on the host does not exist in it
        (
            MACHINE
            | {
                "proc/self/cgroup": "0::/docker/abc\n",
                "sys/fs/cgroup/memory.max": "7000\n",
                "sys/fs/cgroup/memory.current": "7100\n",
            },
            0,
        ),
    ],
)
def test_the_rest_of_each_limit(tmp_path, files, expected):
    write(tmp_path, files)
    assert available_memory(root=tmp_path) == expected


def test_a_gpu_is_asked_itself(monkeypatch):
    monkeypatch.setattr(th.cuda, "mem_get_info", lambda device: (123, 456))
    assert device_memory("cuda") == 123


def test_the_rest_of_ulimit_counts():
    """The process asks with a limit of its memory and 50 MiB more."""
    program = """if True:
        import os, resource
        from utils.processes.available_memory import available_memory
        taken = int(open("/proc/self/statm").read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
        resource.setrlimit(resource.RLIMIT_AS, (taken + 50 * 2**20, resource.RLIM_INFINITY))
        print(available_memory())
    """
    done = subprocess.run([sys.executable, "-c", program], cwd=SRC, capture_output=True, text=True, check=True)
    assert 40 * 2**20 < int(done.stdout) <= 50 * 2**20


def test_sizes_that_do_not_fit_are_refused_if_the_memory_is_known():
    require_memory("It", 100, 100, "")
    require_memory("It", 10**30, None, "")
    with pytest.raises(MusterError, match=r"^It does not fit: up to 2\.0 GiB, where 1\.0 MiB are free\. Do less\.$"):
        require_memory("It", 2**31, 2**20, "Do less.")


@pytest.mark.parametrize(
    "allocate",
    [lambda: np.zeros(2**62, dtype=np.uint8), lambda: th.empty(2**62, dtype=th.uint8), lambda: bytearray(2**62)],
)
def test_allocations_that_fail_are_explained(allocate):
    with (
        pytest.raises(MusterError, match=r"^There is not enough memory: .*Choose a smaller"),
        memory_errors_explained(),
    ):
        allocate()


def test_other_errors_stay_unchanged():
    with pytest.raises(RuntimeError, match="a shape"), memory_errors_explained():
        raise RuntimeError("a shape")
