"""The supervisor of a run: what it writes about the end, and what it leaves alone."""

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace

import pytest

from standins import ROOT
from suite_children import folder_in, launcher, runs_of
from suites.launch.processes import is_alive
from suites.launch.supervisor import _ended, command_of, supervise
from suites.state.runs import DONE, FAILED, LOST, RUNNING, STOPPED, SuiteRun
from suites.state.state import Attempt, SuiteFolder
from utils.files.whole_files import write_whole


def test_a_run_that_another_machine_has_taken_over_is_ended(folder):
    """Its machine was silent for a lease, and is back: the other one's attempt counts, and nobody writes into it."""
    taken = []

    def take_over(newest):
        one = newest.get("run-0")
        if one and one.run_pid and not taken:
            taken.append(one)
            other = replace(one, number=2, state=DONE, machine="another", pid=1, run_pid=2)
            write_whole(str(folder.place("run-0", 2)), other.to_bytes())

    begun = time.monotonic()
    launcher(folder, runs_of(1, pause=3600), seen := [], look=take_over).run()
    while is_alive(taken[0].run_pid, taken[0].run_born) or is_alive(taken[0].pid, taken[0].born):
        assert time.monotonic() - begun < 20
        time.sleep(0.02)
    assert folder.attempt("run-0", 1).state == RUNNING and folder.attempt("run-0", 2).machine == "another"
    assert [one.state for one in seen] == [RUNNING]


def test_a_signal_that_comes_before_the_run_has_let_go_of_its_keeper_ends_it(folder):
    def start():
        pid = os.fork()
        if pid == 0:
            os.kill(os.getpid(), signal.SIGTERM)
        return pid

    ended = supervise(folder, Attempt("a", 1, token="x"), start)
    if ended is None:
        os._exit(0)
    assert (ended.state, ended.exit_code) == (LOST, -signal.SIGTERM)


@pytest.mark.parametrize(
    "code, asked, printed, state, error",
    [
        (0, False, "fine", DONE, ""),
        (0, True, "", DONE, ""),
        (143, True, "saved", STOPPED, ""),
        (143, False, "saved", LOST, "saved"),
        (-signal.SIGKILL, True, "", STOPPED, ""),
        (-signal.SIGKILL, False, "x", LOST, "Ended by SIGKILL."),
        (1, False, "Traceback\nValueError: \x1b[31mno", FAILED, "Traceback\nValueError: \\x1b[31mno"),
        (1, True, "error", FAILED, "error"),
        (
            2,
            False,
            "stopped: x is still in use by the process 3.",
            LOST,
            "stopped: x is still in use by the process 3.",
        ),
    ],
)
def test_how_a_run_ended(tmp_path, code, asked, printed, state, error):
    folder = folder_in(tmp_path)
    folder.output("a").write_text("of an earlier attempt\n" + printed)
    ended = _ended(folder, Attempt("a", 1, token="x"), code, asked, len("of an earlier attempt\n"))
    assert (ended.state, ended.error, ended.exit_code) == (state, error, code)


def test_the_words_of_an_attempt(tmp_path):
    new, again = Attempt("a", 1, token="mine_a"), Attempt("a", 2, token="mine_a", resumes=True)
    folder = SuiteFolder(tmp_path / "it's", "mine")
    run = SuiteRun("a", "", "", "", 1, {}, 1, ["--config=qmix", "with", "lr=1"])
    words = command_of(folder.results, new, run)
    assert words == ["--config=qmix", "with", "lr=1", "run_name='mine_a'", f'local_results_path="{folder.results}"']
    resume = f"--resume={folder.results}/runs/mine_a"
    assert command_of(folder.results, again, run) == [resume]
    assert command_of(folder.results, again, replace(run, confirmed=["plugins=['x']"])) == [
        resume,
        "with",
        "plugins=['x']",
    ]


def test_what_keeps_a_run_imports_no_numpy():
    """There is a supervisor for each run, and NumPy takes as long to import as all else that it needs."""
    code = "import sys, suites.launch.local, suites.launch.tasks; sys.exit(bool({'numpy', 'torch'} & {*sys.modules}))"
    assert (
        subprocess.run([sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": str(ROOT / "src")}).returncode
        == 0
    )
