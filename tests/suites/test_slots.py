"""Cores and cards of one machine, which launchers that know nothing of each other share."""

import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import pytest

from suite_children import folder_in, launcher, runs_of
from suites.plan.resources import Machine, thread_variables
from suites.plan.slots import Slot, Slots, folder_of_machine
from suites.state.runs import DONE
from suites.state.state import Attempt

pytestmark = pytest.mark.slow

SOURCE = Path(__file__).parents[2] / "src"
TAKER = """
import sys, time
from suites.state.state import Attempt, SuiteFolder
from suites.plan.slots import Slot, Slots
Slots().take(SuiteFolder(sys.argv[1], "other"), Attempt("run", 1), Slot([3]))
print("taken", flush=True)
time.sleep(60)
"""


@pytest.fixture(autouse=True)
def machine_of_its_own(tmp_path, monkeypatch):
    place = tmp_path / "machine"
    place.mkdir()
    monkeypatch.setenv("TMPDIR", str(place))
    monkeypatch.setattr(tempfile, "tempdir", None)


class SlowMachine(Machine):
    """One that takes its time to choose, as an interrupted launcher does."""

    def slot(self, taken):
        slot = super().slot(taken)
        time.sleep(0.1)
        return slot


@pytest.mark.parametrize("suites", [("mine", "mine"), ("mine", "other")])
def test_launchers_that_start_at_the_same_moment_pin_to_different_cores(tmp_path, monkeypatch, suites):
    resources = {"jobs": 1, "cores": 1, "gpus": 0.5}
    made, begun = [], []
    for name in suites:
        machine = SlowMachine(resources, cores=[0, 1, 2], gpus=["0", "1"])
        made.append(launcher(folder_in(tmp_path, name), runs_of(2), machine=machine))
        monkeypatch.setattr(made[-1], "_begin", lambda run, attempt: begun.append(attempt) or True)

    def fill(one):
        for _ in range(2):  # whoever is later loses the first run, and gets the second
            if one._fill({}):
                return

    threads = [threading.Thread(target=fill, args=(one,)) for one in made]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(attempt.cores for attempt in begun) == [[0], [1]]
    # shares of one card: the fullest with room
    assert [attempt.gpus for attempt in begun] == [["0"], ["0"]]


def test_a_place_ends_with_its_process(tmp_path):
    variables = {**os.environ, "PYTHONPATH": str(SOURCE)}
    child = subprocess.Popen([sys.executable, "-c", TAKER, str(tmp_path)], env=variables, stdout=subprocess.PIPE)
    # a folder that nobody has made
    folder_of_machine().mkdir(mode=0o700)
    child.stdout.readline()
    assert Slots().taken() == [Slot([3])]
    machine = Machine({"jobs": 1, "cores": 1, "gpus": 0}, cores=[3, 4])
    assert machine.slot(Slots().taken()) == Slot([4])
    child.kill()
    child.wait()
    child.stdout.close()
    assert Slots().taken() == []
    assert list(folder_of_machine().iterdir()) == []


def test_keepers_have_the_places_of_their_runs_until_they_end(tmp_path):
    seen, machine = [], Machine({"jobs": 2, "cores": 1, "gpus": None}, cores=[0, 1, 2])
    runs = runs_of(3, pause=0.01)

    def look(newest):
        if sum(one.run_pid > 0 and one.state != DONE for one in newest.values()) == 2:
            # what the launcher still has of them it gives up at its next look
            seen.append((sorted(slot.cores for slot in Slots().taken()), len(made._slots._held)))

    made = launcher(folder_in(tmp_path), runs, look=look, machine=machine)
    newest = made.run().newest
    assert {one.state for one in newest.values()} == {DONE}
    assert ([[0], [1]], 0) in seen
    assert Slots().taken() == []


def test_without_a_folder_of_its_own_the_suites_attempts_count(tmp_path):
    folder_of_machine().symlink_to(tmp_path)
    assert Slots().taken() is None
    made = launcher(folder_in(tmp_path), [], machine=Machine({"jobs": 1, "cores": 1, "gpus": 1}))
    assert made._taken({}, [Attempt("run", 1, cores=[1], gpus=["0"])]) == [Slot([1], ["0"], 1)]
    newest = made.run().newest
    assert newest == {}


def test_each_run_has_its_share_of_the_cores():
    """Those that it is pinned to, or else what the machine has for each of the runs at a time."""
    resources = {"gpus": 0, "threads": 1}
    shares = [
        Machine({**resources, "cores": cores, "jobs": jobs}, cores=[*range(8)]).cores_each()
        for cores, jobs in ((1, 0), (3, 0), (0, 2), (0, 0), (8, 0), (16, 4), (2, 8))
    ]
    assert shares == [1, 3, 4, 1, 8, 2, 2]
    assert thread_variables(1, 3)["MUSTER_CORES"] == "3"
