"""`suite.py`: its commands from the command line, with pretended runs of real configs."""

import json
import os
import shutil
import sys
from dataclasses import replace

import pytest

from results_folders import write_log, write_run
from suite_children import folder_in
from suites.command import launch as suite_launch
from suites.state.state import Attempt, SuiteFolder
from tiny_suite import TINY, attempts
from utils.config.merging import CONFIG_DIR
from utils.files.whole_files import write_whole

pytestmark = pytest.mark.slow


def test_a_suite_runs_to_its_end_and_is_not_run_again(suite, tmp_path, monkeypatch, capsys):
    pytest.importorskip("plotly")
    assert suite("run", "tiny.yaml") == 0
    out = capsys.readouterr().out
    assert "tiny: 4 runs, checked in" in out and "\n4 of 4 runs done.\n" in out
    assert sorted(one.state for one in attempts(tmp_path).values()) == ["done"] * 4
    assert suite("status", "tiny") == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "tiny: 4 of 4 runs done, 0 running, 0 waiting"
    assert [line.split() for line in lines[2:]] == [
        "algorithm map done steps steps/s".split(),
        ["qmix", "two_step", "2/2", "100", "%", "10"],
        ["vdn", "two_step", "2/2", "100", "%", "10"],
    ]
    assert "packages that are not installed" not in out
    monkeypatch.setitem(sys.modules, "plotly", None)
    assert suite("run", "tiny.yaml") == 0
    before, _, after = capsys.readouterr().out.partition("4 of 4 runs done.")
    assert "not installed: plotly. Install them meanwhile with: pip install -r requirements-browser.txt\n" in before
    assert "'plotly', which is not installed" in after and "Then: python src/suite.py report tiny\n" in after
    assert {one.number for one in attempts(tmp_path).values()} == {1}


def test_a_part_of_a_suite_runs_first_and_the_rest_later(suite, tmp_path, capsys):
    assert suite("run", "tiny.yaml", "--only=algorithm=vdn", "--only=seed=2") == 0
    out = capsys.readouterr().out
    assert "\nOf these, 1 run: algorithm=vdn seed=2\n" in out and "[1/1] vdn-two_step-s2-" in out
    assert "\n1 of 1 run done.\n" in out
    assert [run[: len("vdn-two_step-s2")] for run in attempts(tmp_path)] == ["vdn-two_step-s2"]
    assert suite("status", "tiny") == 0
    assert capsys.readouterr().out.startswith("tiny: 1 of 4 runs done, 0 running, 3 waiting\n")
    assert suite("run", "tiny.yaml") == 0
    assert "\n4 of 4 runs done.\n" in capsys.readouterr().out
    assert {one.number for one in attempts(tmp_path).values()} == {1}
    assert suite("run", "tiny.yaml", "--only=sed=2") == 2
    assert "Did you mean 'seed'?" in capsys.readouterr().err


def test_a_row_more_moves_nothing_and_a_changed_config_is_a_new_run(suite, tmp_path, capsys):
    assert suite("run", "tiny.yaml") == 0
    before = attempts(tmp_path)
    (tmp_path / "tiny.yaml").write_text(TINY.replace("[qmix, vdn]", "[iql, qmix, vdn]"))
    assert suite("run", "tiny.yaml") == 0
    assert "The suite has changed: 2 new runs, 0 no longer in it" in capsys.readouterr().out
    after = attempts(tmp_path)
    assert before.items() <= after.items() and len(after) == 6
    (tmp_path / "tiny.yaml").write_text(TINY + "cases: [{when: {algorithm: vdn}, settings: {lr: 0.01}}]")
    assert suite("run", "tiny.yaml") == 0
    assert "2 new runs, 4 no longer in it" in capsys.readouterr().out
    changed = attempts(tmp_path).keys() - after.keys()
    assert len(changed) == 2 and all(run.startswith("vdn-two_step-s") for run in changed)


def test_a_dry_run_lists_the_runs_and_their_commands(suite, tmp_path, capsys):
    assert suite("run", "tiny.yaml", "--dry-run") == 0
    _, *lines, time = capsys.readouterr().out.splitlines()
    assert time.startswith("How long it takes is not known: ") and time.endswith("src/suite.py estimate tiny.yaml")
    assert len(lines) == 4 and not (tmp_path / "results").exists()
    assert "--config=qmix --env-config=two_step with test_nepisode=4 t_max=20 label='qmix' seed=1" in lines[0]


def test_a_dry_run_with_slurm_shows_the_script(suite, tmp_path, capsys):
    (tmp_path / "tiny.yaml").write_text(TINY.replace("gpus: 0", "gpus: 0.5, shell: [module load cuda]"))
    assert suite("run", "tiny.yaml", "--dry-run", "--launcher=slurm") == 0
    shown = capsys.readouterr().out
    assert (
        shown.count(" with ") == 4 and "#!/bin/bash\n#SBATCH --job-name=muster-tiny\n#SBATCH --array=0-1%1\n" in shown
    )
    assert "\nmodule load cuda\nexec " in shown and not (tmp_path / "results").exists()


def test_a_run_whose_config_changes_while_the_suite_runs_is_not_started(suite, tmp_path, capsys):
    """Its results would stand under the id of another config."""
    own = tmp_path / "own.yaml"
    own.write_text((CONFIG_DIR / "algs" / "vdn.yaml").read_text())
    (tmp_path / "tiny.yaml").write_text(TINY.replace("[qmix, vdn]", "[qmix, own.yaml]").replace("jobs: 2", "jobs: 1"))
    begin = suite_launch.LocalLauncher._begin

    def changing(launcher, run, attempt):
        own.write_text((CONFIG_DIR / "algs" / "vdn.yaml").read_text() + "\ngamma: 0.5\n")
        return begin(launcher, run, attempt)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(suite_launch.LocalLauncher, "_begin", changing)
        assert suite("run", "tiny.yaml") == 1
    error = " ".join(capsys.readouterr().err.split())
    assert "2 of 4 runs done, 2 not started, since a file of the config has changed" in error
    assert sorted(run[:4] for run in attempts(tmp_path)) == ["qmix", "qmix"]
    assert suite("run", "tiny.yaml") == 0
    assert "2 new runs, 2 no longer in it" in capsys.readouterr().out


def test_a_failed_run_is_an_error_with_the_way_to_its_output(suite, tmp_path, capsys):
    (tmp_path / "tiny.yaml").write_text(TINY)
    assert suite("run", "tiny.yaml", "--dry-run") == 0
    folder = folder_in(tmp_path / "results", "tiny")
    first = capsys.readouterr().out.splitlines()[1].split()[0]
    failed = Attempt(first, 1, state="failed", error="Traceback\nValueError: no", ended=1.0, token="x")
    write_whole(str(folder.place(first, 1)), failed.to_bytes())
    assert suite("run", "tiny.yaml") == 1
    assert "stopped: 3 of 4 runs done, 1 failed" in capsys.readouterr().err
    assert suite("status", "tiny") == 0
    shown = capsys.readouterr().out
    assert (
        "ValueError: no" in shown
        and shown.splitlines()[2].split() == "algorithm map done failed steps steps/s last error".split()
    )


def test_status_says_from_which_step_runs_resume_and_what_they_wait_for(suite, tmp_path, capsys):
    """Of a stopped run the steps after its newest checkpoint are lost, however far its log is."""
    (tmp_path / "tiny.yaml").write_text(TINY)
    assert suite("run", "tiny.yaml") == 0
    folder = SuiteFolder(tmp_path / "results", "tiny")
    attempt = next(iter(folder.newest().values()))
    write_whole(str(folder.place(attempt.run, 1)), replace(attempt, state="stopped", steps=17, seconds=3.4).to_bytes())
    newest = max(int(path.name) for path in (folder.results / "runs" / attempt.token / "checkpoints").iterdir())
    capsys.readouterr()
    for word, waits in (("running", "Nothing is running: unless a launcher is at work"), ("stop", "was stopped")):
        if word == "stop":
            folder.stop.touch()
        assert suite("status", "tiny") == 0
        shown = capsys.readouterr().out
        assert waits in shown and "python src/suite.py run tiny.yaml" in shown
        assert f"{100 * (20 + newest) / 40:.0f} %" in shown


def test_a_stop_leaves_a_mark_that_the_next_start_removes(suite, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("suites.launch.slurm.require_commands", lambda: None)
    assert suite("run", "tiny.yaml") == 0
    folder = SuiteFolder(tmp_path / "results", "tiny")
    assert suite("stop", "tiny") == 0
    assert suite("run", "tiny.yaml", "--launcher=slurm") == 0
    said = capsys.readouterr().out
    assert "tiny: 4 of 4 runs done: there is nothing to stop." in said
    assert "Nothing to submit: 4 of 4 runs done.\n" in said
    assert not folder.stop.exists()
    shutil.rmtree(folder.attempts)
    assert suite("stop", "tiny") == 0
    # by its file: no name would be found
    assert "started it resumes it, such as python src/suite.py run tiny.yaml\n" in capsys.readouterr().out
    assert folder.stop.exists()
    begun = {path: path.stat().st_mtime_ns for path in tmp_path.glob("results/runs/*")}
    assert suite("run", "tiny.yaml") == 0
    assert not folder.stop.exists()
    # nothing was done twice: the runs have the same ids
    assert begun == {path: path.stat().st_mtime_ns for path in tmp_path.glob("results/runs/*")}
    assert {(one.state, one.steps >= 20) for one in attempts(tmp_path).values()} == {("done", True)}


def test_a_report_has_the_runs_of_the_suite_and_no_others(suite, tmp_path, capsys):
    pytest.importorskip("plotly")
    assert suite("run", "tiny.yaml") == 0
    results = tmp_path / "results"
    for number, (run, attempt) in enumerate(sorted(attempts(tmp_path).items()), 1):
        algorithm, _, seed = run.split("-")[:3]
        config = {"name": "x", "label": algorithm, "seed": int(seed[1:]), "env": "two_step", "run_name": attempt.token}
        write_run(results, number, config=config, info={"unique_token": attempt.token})
        os.remove(results / "runs" / attempt.token / "metrics.csv")
        score = 8.0 if algorithm == "qmix" else 6.0
        write_log(results, attempt.token, [(t, t, t, "test_return_mean", score) for t in (0, 10, 20)])
    write_run(results, 9, config={"label": "another", "seed": 1, "env": "two_step"}, info={"unique_token": "another"})
    write_log(results, "another", [(t, t, t, "test_return_mean", 9.0) for t in (0, 10, 20)])
    capsys.readouterr()
    assert suite("report", "tiny") == 0
    out = capsys.readouterr().out
    assert (
        "another" not in out
        and "| qmix | 8.00 (8.00 to 8.00), n = 2 |" in out
        and "| vdn  | 6.00 (6.00 to 6.00), n = 2 |" in out
    )
    folder = results / "suites" / "tiny"
    assert (folder / "table.md").read_text() in out
    exported = json.loads((folder / "marl_eval.json").read_text())
    assert exported["two_step"]["two_step"].keys() == {"qmix", "vdn"}
    page = (folder / "report.html").read_text()
    assert "tiny: 4 of 4 runs done" in page
    assert "also differ" not in page, "each run of a suite has a name of its own"
    assert "interquartile mean with lowest and highest run" in page and "Student" not in page
    made = SuiteFolder(results, "tiny")
    write_whole(str(made.place(attempt.run, 2)), Attempt(attempt.run, 2, state="dropped").to_bytes())
    assert suite("report", "tiny") == 0
    assert "tiny: 3 of 4 runs done, 1 dropped by the search" in (folder / "report.html").read_text()
