"""Some of what can happen to a run, at random; `benchmarks/soak.py` does all of it for longer."""

import os
import signal
import subprocess
import sys

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


def test_faults_at_random_lose_nothing(tmp_path, monkeypatch):
    # last: the folder has modules with the names of our packages
    monkeypatch.setattr(sys, "path", [*sys.path, str(ROOT / "benchmarks")])
    import soak

    with soak.small_disk(tmp_path / "disk") as mounted:
        trial = soak.Soak(tmp_path / "disk", mounted, seed=1, pause=0.3, session=Session)
        try:
            trial.play(0.8)
            trial.finish()
            trial.check()
        finally:
            trial.process.kill()
    assert trial.problems == []
    assert sum(trial.happened.values()) >= 2 and trial.sessions >= 2
