"""Rows that threads share: the order of errors, forks, and the end of a process."""

import os
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from utils.errors import ConfigError
from utils.processes.cores import VARIABLE, usable_cores
from utils.processes.thread_shares import ThreadShares

SOURCE = Path(__file__).parents[2] / "src"
FORKS = """
import os, sys, time
from utils.processes.thread_shares import ThreadShares

def add(rows):
    done.append(rows)

for round in range(2):
    done = []
    ThreadShares(9, 2).do(add, [(0,), (1,)])
    assert sorted(done) == [0, 1]
    time.sleep(0.2)  # until its threads wait for work
    if round == 0 and (child := os.fork()):
        sys.exit(os.waitpid(child, 0)[1])
print("the child's, too")
"""


@pytest.mark.parametrize(("rows", "threads", "sizes"), [(7, 3, [2, 2, 3]), (2, 9, [1, 1]), (5, 0, [5]), (4, 1, [4])])
def test_each_thread_has_its_rows(rows, threads, sizes):
    shares = ThreadShares(rows, threads)
    assert [part.stop - part.start for part in shares.slices] == sizes
    done, names = np.zeros(rows, int), []

    def work(part):
        done[part] += 1
        names.append(threading.current_thread())

    shares.do(work, [(part,) for part in shares.slices])
    assert done.tolist() == [1] * rows
    assert threading.current_thread() in names


@pytest.mark.parametrize("failing", [0, 1, 2])
def test_an_error_comes_out_once_all_have_ended(failing):
    shares, ended = ThreadShares(3, 3), []
    gate = threading.Barrier(3)

    def work(k):
        gate.wait(5)
        if k == failing:
            raise ValueError(f"row {k}")
        ended.append(k)

    for _ in range(2):
        with pytest.raises(ValueError, match=f"row {failing}"):
            shares.do(work, [(0,), (1,), (2,)])
        assert sorted(ended) == [k for k in range(3) if k != failing]
        ended.clear()


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no forks")
def test_a_forked_child_has_threads_of_its_own_and_processes_end():
    done = subprocess.run(
        [sys.executable, "-c", FORKS], env={**os.environ, "PYTHONPATH": str(SOURCE)}, capture_output=True, timeout=60
    )
    assert (done.returncode, done.stdout) == (0, b"the child's, too\n"), done.stderr


def test_a_process_sees_the_cores_that_it_is_pinned_to_and_its_share(monkeypatch):
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {3, 4, 5, 9}, raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 64)
    assert usable_cores() == 4
    for share, cores in (("2", 2), ("8", 4), ("", 4)):
        monkeypatch.setenv(VARIABLE, share)
        assert usable_cores() == cores
    for share in ("0", "two", "-1", "1.5"):
        monkeypatch.setenv(VARIABLE, share)
        with pytest.raises(ConfigError, match=f"{VARIABLE}={share} must be a whole number"):
            usable_cores()
