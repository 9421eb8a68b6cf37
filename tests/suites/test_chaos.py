"""Two launchers on one folder; launchers, fork servers, supervisors and runs are killed at random, for some seconds.

`benchmarks/suite_chaos.py` does the same with real runs and whole machines, for ten minutes.
"""

import os
import random
import signal
import time
from collections import Counter
from contextlib import suppress

import psutil
import pytest

from suite_children import folder_in, require_done, runs_of, start_launcher
from suites.state.runs import DONE

SECONDS, COUNT = 5.0, 12
OPTIONS = {"steps": 60, "pause": 0.01}


@pytest.mark.slow
def test_every_run_is_done_exactly_once_whatever_is_killed(tmp_path):
    folder, rng, killed = folder_in(tmp_path), random.Random(int(os.environ.get("CHAOS_SEED", 1))), Counter()
    start = lambda: start_launcher(tmp_path, COUNT, lease=2.0, losses=1000, **OPTIONS)  # noqa: E731
    launchers, ends = [start(), start()], time.monotonic() + SECONDS
    while time.monotonic() < ends:
        time.sleep(rng.uniform(0.05, 0.3))
        for place, process in enumerate(launchers):
            if process.poll() is not None:
                launchers[place] = start()
        victims = [("launcher", process.pid) for process in launchers]
        for attempt in folder.newest().values():
            if attempt.state == "running" and attempt.run_pid:
                victims += [("supervisor", attempt.pid), ("run", attempt.run_pid), ("run", attempt.run_pid)]
        for process in launchers:
            with suppress(psutil.Error):
                victims += [("fork server", child.pid) for child in psutil.Process(process.pid).children()]
        kind, pid = rng.choice(victims)
        with suppress(ProcessLookupError):
            os.kill(pid, rng.choice([signal.SIGKILL, signal.SIGKILL, signal.SIGTERM]))
            killed[kind] += 1
    for process in launchers:
        while process.wait(timeout=60) != 0:  # it was killed last
            process = start()
    runs, newest = runs_of(COUNT, **OPTIONS), folder.newest()
    require_done(folder, runs)
    every = [folder.attempt(run.id, number) for run in runs for number in range(1, newest[run.id].number + 1)]
    assert Counter(one.run for one in every if one.state == DONE) == {run.id: 1 for run in runs}
    assert sum(killed.values()) > 10 and len(every) > COUNT, killed
