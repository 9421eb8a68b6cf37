"""Faults of a run, one after another; `benchmarks/soak.py` has all of them, at random and for longer."""

import os
import signal
import subprocess
import sys
import time

import pytest

from forked import fork_grandchildren, start_forked
from standins import ROOT

pytestmark = pytest.mark.slow


class Session:
    """A process that trains, as `subprocess.Popen` has it, without the seconds in which an interpreter starts."""

    def __init__(self, words, output, folder):
        self._process = start_forked(_train, words, output.name, folder)
        self.pid, self.kill = self._process.pid, self._process.kill

    @property
    def returncode(self):
        return self._process.exitcode

    poll = returncode.fget

    def wait(self, timeout=None):
        self._process.join(timeout)
        if self.returncode is None:
            raise subprocess.TimeoutExpired("a session", timeout)
        return self.returncode

    def send_signal(self, number):
        os.kill(self.pid, number)


def _train(words, output, folder):
    from main import main

    fork_grandchildren()
    os.chdir(folder)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in (1, 2):
        os.dup2(os.open(output, os.O_WRONLY | os.O_APPEND), number)
    sys.argv = ["src/main.py", *words]
    sys.exit(main(words))


def logged_beyond_a_checkpoint(results):
    """Whether the run has logged statistics that its newest checkpoint lacks, which a resumed run logs again."""
    saved = [int(path.parent.name) for path in results.glob("runs/*/checkpoints/[0-9]*/manifest.json")]
    rows = [line for log in results.glob("runs/*/metrics.csv") for line in log.read_text().splitlines()[1:]]
    return saved and max(int(row.partition(",")[0]) for row in rows[:-1]) > max(saved)


def test_faults_lose_nothing_and_repeat_nothing(tmp_path, monkeypatch):
    # last: the folder has modules with the names of our packages
    monkeypatch.setattr(sys, "path", [*sys.path, str(ROOT / "benchmarks")])
    import soak

    with soak.small_disk(tmp_path / "disk") as mounted:
        trial = soak.Soak(tmp_path / "disk", mounted, seed=1, pause=0.3, session=Session)
        try:
            deadline = time.monotonic() + 120
            for event in ("run killed", "SIGTERM"):
                trial.play(0)
                while not logged_beyond_a_checkpoint(trial.results):
                    assert time.monotonic() < deadline and trial.process.poll() is None
                    time.sleep(0.02)
                trial.do(event)
            trial.finish()
            trial.check()
        finally:
            trial.process.kill()
    assert trial.problems == []
    assert trial.sessions == 4
