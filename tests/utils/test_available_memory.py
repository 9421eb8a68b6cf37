"""Free memory, read from a copy of the files that Linux has."""

import pytest
import torch as th

from utils.available_memory import available_memory, readable_size


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
def test_what_is_left(tmp_path, files, expected):
    write(tmp_path, files)
    assert available_memory("cpu", root=tmp_path) == expected


def test_a_gpu_is_asked_itself(monkeypatch):
    monkeypatch.setattr(th.cuda, "mem_get_info", lambda device: (123, 456))
    assert available_memory("cuda") == 123


@pytest.mark.parametrize(("count", "text"), [(0, "0.0 MiB"), (2**20 * 3 // 2, "1.5 MiB"), (5 * 2**29, "2.5 GiB")])
def test_readable_sizes(count, text):
    assert readable_size(count) == text
