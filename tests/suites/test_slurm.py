"""SLURM's launcher on a stand-in of SLURM: arrays, preemption, time-outs, nodes that fail."""

import os
import sys
from dataclasses import replace
from pathlib import Path

import pytest

import suite_children
from slurm_standin import PENDING, Cluster
from suite_children import RESOURCES, SAVES, require_done, runs_of, write_manifest_of
from suites.launch import slurm
from suites.launch.leases import Leases
from suites.state.runs import DONE, DROPPED, FAILED, RUNNING, STOPPED
from suites.state.state import Attempt
from utils.errors import MusterError
from utils.files.whole_files import write_whole

pytestmark = pytest.mark.slow

PROGRAM = [sys.executable, suite_children.__file__, "task"]
ASKED = {**RESOURCES, "threads": 1, "hours": 0, "memory": 0, "slurm": [], "shell": [], "inside": "", "losses": 5}


@pytest.fixture
def cluster(tmp_path, monkeypatch):
    made = Cluster(tmp_path / "cluster")
    for key, value in made.environment().items():
        monkeypatch.setenv(key, value)
    yield made
    made.close()


def submit(folder, runs, lease=300.0, retry_failed=False, **resources):
    write_manifest_of(folder, runs)
    wanted, failed = slurm.unfinished(folder, runs, Leases(folder), retry_failed)
    return wanted and slurm.submit(folder, wanted, failed, {**ASKED, **resources}, PROGRAM, lease)


def begun(folder, run, saved=True):
    """Whether a run is under way, with a checkpoint."""
    attempt = folder.newest().get(run)
    return bool(attempt and attempt.run_pid and attempt.state == RUNNING) and (
        not saved or bool(list(folder.results.glob(f"runs/{attempt.token}/checkpoints/[1-9]*")))
    )


def test_an_array_does_every_run_once(cluster, folder):
    """That an earlier search has dropped one does not matter."""
    runs = runs_of(3)
    write_whole(str(folder.place(runs[2].id, 1)), Attempt(runs[2].id, 1, state=DROPPED).to_bytes())
    job = submit(folder, runs, jobs=2)
    assert cluster.tasks() == {(job, str(task)): PENDING for task in range(3)}
    # in the queue already
    assert submit(folder, runs) == []
    cluster.run()
    require_done(folder, runs, [1, 1, 2])
    assert submit(folder, runs) == []


def test_the_script_asks_for_what_the_suite_does(cluster, folder):
    submit(folder, runs_of(5), jobs=3, hours=1.5, memory=2, gpus=1, cores=2, slurm=["--partition=gpu"])
    lines = (folder.path / "slurm" / "1.sh").read_text().splitlines()
    asked = [line.removeprefix("#SBATCH ") for line in lines if line.startswith("#SBATCH")]
    assert asked == [
        "--job-name=muster-mine", "--array=0-4%3", "--cpus-per-task=2", "--time=90", "--mem=2048M", "--gpus=1",
        "--requeue", "--open-mode=append", "--signal=B:TERM@120", f"--output={folder.path}/slurm/1-%a.out",
        "--partition=gpu",
    ]  # fmt: skip
    assert lines[-1].startswith("exec ") and lines[-1].endswith(f"{folder.results} mine 1 $SLURM_ARRAY_TASK_ID")
    assert "export OMP_NUM_THREADS=1" in lines


def test_lines_of_shell_come_before_the_task_and_a_command_around_it(cluster, folder):
    shell = ["module load cuda", "source env.sh"]
    submit(folder, runs_of(1), shell=shell, inside="apptainer exec --nv muster.sif", gpus=0)
    *_, folder_line, first, second, task = (folder.path / "slurm" / "1.sh").read_text().splitlines()
    assert [first, second] == shell and folder_line.startswith("cd ")
    assert task.startswith(f"exec apptainer exec --nv muster.sif {sys.executable} ")
    submit(folder, runs_of(2), shell=[f"touch {folder.path}/came; exit 0"])
    cluster.run()
    assert (folder.path / "came").exists() and not folder.newest(), "the lines are run"


def test_runs_that_share_a_card_are_one_task(cluster, folder):
    runs = runs_of(7)
    job = submit(folder, runs, gpus=0.3, cores=2, memory=1.5, jobs=4)
    script = (folder.path / "slurm" / "1.sh").read_text()
    for option in ("--array=0-2%2", "--cpus-per-task=6", "--mem=4608M", "--gpus=1"):
        assert f"#SBATCH {option}\n" in script
    assert cluster.tasks() == {(job, str(task)): PENDING for task in range(3)}
    assert submit(folder, [*runs, *runs_of(8)[7:]], gpus=0.3) and len(cluster.tasks()) == 4, "only the new one"
    cluster.run()
    require_done(folder, runs, [1] * 7)


@pytest.mark.parametrize("how", ["preempt", "time_out"])
def test_runs_that_share_a_card_save_and_resume_together(cluster, folder, how):
    runs = [*runs_of(2, steps=40, hold=SAVES), *runs_of(3, steps=2)[2:]]
    job = submit(folder, runs, gpus=0.33)
    cluster.run(until=lambda: begun(folder, "run-0") and begun(folder, "run-1") and "run-2" in folder.newest())
    cluster.run(until=lambda: folder.newest()["run-2"].state == DONE)
    getattr(cluster, how)(job, "0")
    assert [folder.newest()[run.id].state for run in runs] == [STOPPED, STOPPED, DONE]
    assert [folder.newest()[run.id].exit_code for run in runs] == [143, 143, 0], "they saved, and were not killed"
    assert cluster.tasks() == {(job, "0"): PENDING}
    cluster.run()
    require_done(folder, runs, [2, 2, 1])


@pytest.mark.parametrize("how", ["preempt", "time_out", "fail_node"])
def test_a_task_that_is_ended_from_outside_resumes_its_run(cluster, folder, how):
    # one that is told to stop waits for that, with its first checkpoint
    (run,) = runs_of(1, steps=60, pause=0.05) if how == "fail_node" else runs_of(1, steps=40, hold=SAVES)
    job = submit(folder, [run])
    cluster.run(until=lambda: begun(folder, run.id))
    getattr(cluster, how)(job, "0")
    first = folder.newest()[run.id]
    assert first.state == (RUNNING if how == "fail_node" else STOPPED)
    assert cluster.tasks() == {(job, "0"): PENDING}
    cluster.run()
    require_done(folder, [run], [2])
    assert folder.newest()[run.id].resumes


def test_a_task_of_a_silent_machine_waits_for_the_lease(cluster, folder):
    """Its node may be cut off rather than dead: only then another attempt begins."""
    (run,) = runs_of(1)
    submit(folder, [run], lease=2)
    lease = Leases(folder, lease=2).take(run, None, [], [])
    elsewhere = replace(lease, machine="another", run_pid=1)
    write_whole(str(folder.place(run.id, 1)), elsewhere.to_bytes())
    cluster.run()
    newest = folder.newest()[run.id]
    assert (newest.number, newest.state) == (2, DONE)
    assert newest.claimed - elsewhere.claimed > 2


def test_the_queue_is_shown_with_its_reasons(cluster, folder, monkeypatch):
    job = submit(folder, runs_of(6, steps=60, pause=0.02), gpus=0.5, jobs=2)
    assert slurm.queue(folder) == [f"SLURM job {job}: 3 tasks, 2 runs each: 3 pending (Priority)"]
    cluster.run(until=lambda: begun(folder, "run-0", saved=False))
    assert slurm.queue(folder) == [f"SLURM job {job}: 3 tasks, 2 runs each: 1 running, 2 pending (Priority)"]
    monkeypatch.setenv("PATH", str(folder.path))
    assert slurm.queue(folder) == [f"SLURM job {job}: squeue was not found: --launcher=slurm needs SLURM's commands."]


def test_a_failed_run_is_not_queued_again_without_the_word(cluster, folder):
    runs = runs_of(2, fail=7)
    submit(folder, runs[:1])
    cluster.run()
    assert folder.newest()[runs[0].id].state == FAILED
    assert submit(folder, runs[:1]) == []
    assert submit(folder, runs[:1], retry_failed=True)
    cluster.run()
    assert (folder.newest()[runs[0].id].number, folder.newest()[runs[0].id].state) == (2, FAILED)


def test_a_stop_cancels_what_waits_and_lets_the_others_save(cluster, folder):
    runs = runs_of(3, steps=60, pause=0.01)
    submit(folder, runs, jobs=1, lease=2)
    cluster.run(until=lambda: begun(folder, runs[0].id))
    folder.stop.touch()
    slurm.cancel_pending(folder)
    cluster.run()
    assert {run: one.state for run, one in folder.newest().items()} == {runs[0].id: STOPPED}
    folder.stop.unlink()
    assert submit(folder, runs)
    cluster.run()
    require_done(folder, runs, [2, 1, 1])


def test_without_slurm_the_message_says_so(folder, monkeypatch):
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent / "nowhere"))
    with pytest.raises(MusterError, match="sbatch was not found: --launcher=slurm needs SLURM's commands"):
        submit(folder, runs_of(1))


def test_a_job_that_is_refused_is_reported(cluster, folder, monkeypatch, tmp_path):
    (tmp_path / "cluster" / "bin" / "sbatch").write_text("#!/bin/sh\necho 'error: invalid partition' >&2; exit 1\n")
    with pytest.raises(MusterError, match="sbatch failed: error: invalid partition"):
        submit(folder, runs_of(1))
    os.remove(tmp_path / "cluster" / "bin" / "sbatch")
