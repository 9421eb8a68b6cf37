"""The launcher on Ray: on a stand-in of Ray, and on Ray itself where it is installed."""

import importlib.util
import os
import signal
import sys

import pytest

import suite_children
from ray_standin import StandInCluster
from suite_children import RESOURCES, require_done, runs_of, write_manifest_of
from suites.launch import launcher as launchers
from suites.launch import ray_launcher, ray_task
from suites.launch.leases import Leases
from suites.launch.ray_launcher import RayLauncher
from suites.state.runs import DONE, DROPPED, FAILED, LOST, RUNNING, STOPPED
from suites.state.state import Attempt
from utils.files.whole_files import write_whole
from utils.processes.ray_cluster import RayCluster

pytestmark = pytest.mark.slow

ASKED = {**RESOURCES, "jobs": 0, "cores": 1, "threads": 1, "memory": 0, "losses": 5}
HAS_RAY = importlib.util.find_spec("ray") is not None


@pytest.fixture(autouse=True)
def workers(monkeypatch):
    monkeypatch.setattr(ray_task, "LOOK", 0.05)
    source = os.path.dirname(os.path.dirname(launchers.__file__))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([source, *sys.path]))


def launch(folder, runs, cluster=None, look=lambda newest: None, seen=None, lease=300.0, program=None, **options):
    write_manifest_of(folder, runs)
    resources = {**ASKED, **{key: options.pop(key) for key in list(options) if key in ASKED}}
    program = program or [suite_children.__file__, "keep"]
    report = (lambda attempt: None) if seen is None else seen.append
    work = launchers.Work(folder, runs, Leases(folder, lease), report, look, **options)
    return RayLauncher(work, cluster or StandInCluster(), resources, program, lease).run()


def test_every_run_is_done_once_and_the_same_command_does_nothing_more(folder):
    """That an earlier search has dropped one does not matter."""
    runs, cluster, seen = runs_of(3), StandInCluster(), []
    write_whole(str(folder.place(runs[2].id, 1)), Attempt(runs[2].id, 1, state=DROPPED).to_bytes())
    assert not launch(folder, runs, cluster, seen=seen).refused
    require_done(folder, runs)
    assert [folder.newest()[run.id].number for run in runs] == [1, 1, 2]
    assert [one.state for one in seen].count(DONE) == 3
    assert cluster.closed and cluster.asked == {"num_cpus": 1, "num_gpus": 0, "memory": None, "max_retries": 0}
    assert list((folder.path / "ray").iterdir()) == []
    launch(folder, runs, again := StandInCluster())
    assert again._tasks == []


@pytest.mark.parametrize("everything", [True, False], ids=["machine", "worker"])
def test_a_run_whose_machine_is_gone_is_resumed(folder, everything):
    """And one whose worker alone is gone saves: Ray has given its CPUs to others."""
    runs, cluster, killed = runs_of(2, steps=60, pause=0.01), StandInCluster(1), []

    def look(newest):
        one = next((one for one in newest.values() if one.run_pid and one.state == RUNNING), None)
        if one and not killed and list(folder.results.glob(f"runs/{one.token}/checkpoints/[1-9]*")):
            killed.append(one)
            cluster.kill_worker(everything)

    launch(folder, runs, cluster, look, seen := [])
    require_done(folder, runs)
    first = folder.attempt(killed[0].run, 1)
    assert first.state == (RUNNING if everything else STOPPED)
    again = folder.newest()[killed[0].run]
    assert again.number == 2 and again.resumes and again.resumed > 0
    assert [one.run for one in seen if one.resumes and one.state == RUNNING] == [killed[0].run]


@pytest.mark.parametrize("by", ["signal", "mark"])
def test_a_stop_lets_runs_save_and_those_that_wait_do_not_begin(folder, by):
    runs, stopped = runs_of(4, pause=0.02, steps=200), []

    def look(newest):
        if any(one.run_pid for one in newest.values()) and not stopped:
            stopped.append(by)
            os.kill(os.getpid(), signal.SIGTERM) if by == "signal" else folder.stop.touch()

    outcome = launch(folder, runs, StandInCluster(1), look)
    assert outcome.stopped and outcome.signum == (signal.SIGTERM if by == "signal" else None)
    assert [one.state for one in folder.newest().values()] == [STOPPED]
    folder.stop.unlink(missing_ok=True)
    launch(folder, runs_of(4, pause=0.0001, steps=200), StandInCluster(2))
    assert {one.state for one in folder.newest().values()} == {DONE}


def test_a_failed_run_waits_for_the_word(folder):
    runs = runs_of(1, fail=3)
    launch(folder, runs)
    failed = folder.newest()["run-0"]
    assert (failed.state, failed.exit_code, failed.number) == (FAILED, 1, 1)
    assert failed.error.endswith("error: a planted fault")
    launch(folder, runs)
    assert folder.newest()["run-0"].number == 1
    launch(folder, runs, retry_failed=True)
    assert folder.newest()["run-0"].number == 2


def test_what_cannot_be_started_is_refused_once_and_says_why(folder):
    outcome = launch(folder, runs_of(2), program=["/none/suite.py", "keep"])
    assert set(outcome.refused) == {"run-0", "run-1"}
    assert outcome.refused["run-0"].endswith("has no /none/suite.py: every machine needs Muster at the same path.")
    outcome = launch(folder, runs_of(1), program=[suite_children.__file__, "task"])
    assert "ValueError: too many values" in outcome.refused["run-0"] and folder.newest() == {}


def test_tasks_that_are_lost_again_and_again_before_they_begin_are_given_up(folder, monkeypatch):
    monkeypatch.setattr(ray_launcher, "MOST_LOST", 3)
    cluster = StandInCluster(1)
    outcome = launch(folder, runs_of(1), cluster, lambda newest: cluster._tasks and cluster._tasks[-1].process.kill())
    assert outcome.refused == {"run-0": "WorkerCrashedError"} and len(cluster._tasks) == 3


def test_a_run_that_another_launcher_has_is_left_to_it(folder):
    runs = runs_of(1)
    leases = Leases(folder, lease=1.0)
    leases.machine = "another one"
    assert leases.take(runs[0], None, [], [])
    outcome = launch(folder, runs, lease=1.0)
    newest = outcome.newest["run-0"]
    # its lease is over without a sign of life: the run begins again, under another name
    assert (newest.number, newest.state, newest.token) == (2, DONE, "mine_run-0.2")
    assert folder.attempt("run-0", 1).state in (RUNNING, LOST)


@pytest.mark.skipif(not HAS_RAY, reason="pip install -r requirements-cluster.txt")
def test_on_ray_itself(folder):
    runs = runs_of(3, steps=40, pause=0.01)
    assert launch(folder, runs, RayCluster(None, 2)).refused == {}
    require_done(folder, runs)
    assert [one.number for one in folder.newest().values()] == [1, 1, 1]
