"""`suite.py`: its commands from the command line, with pretended runs of real configs."""

import json
import math
import os
import shutil
import sys

import pytest

from browser_folders import write_log, write_run
from cli import suite_launch
from records.suite_state import Attempt, SuiteFolder
from suite import main
from suite_children import folder_in, start
from suites import launcher as launchers
from utils.config import CONFIG_DIR
from utils.whole_files import write_whole

pytestmark = pytest.mark.slow

TINY = """
algorithms: [qmix, vdn]
environments: two_step
seeds: 2
t_max: 20
settings: {test_nepisode: 4}
resources: {jobs: 2, cores: 0, gpus: 0}
"""


@pytest.fixture
def suite(tmp_path, monkeypatch):
    """The command line for a suite in a folder of its own, whose runs take no second."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(suite_launch, "starter", lambda environments, cold, environment: start())
    monkeypatch.setattr(launchers, "LOOK", 0.05)
    (tmp_path / "tiny.yaml").write_text(TINY)
    return lambda command, *words: main([command, *words])


def attempts(tmp_path):
    return SuiteFolder(tmp_path / "results", "tiny").newest()


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
        "algorithm map done running failed steps steps/s left last error".split(),
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


@pytest.mark.parametrize(
    "old, new, message",
    [
        ("vdn]", "vnd]", "tiny.yaml: algorithms: there is no 'vnd'. Did you mean 'vdn'?"),
        ("two_step", "two_stp", "tiny.yaml: environments: there is no 'two_stp'. Did you mean 'two_step'?"),
        ("test_nepisode", "test_nepisodes", "tiny.yaml: qmix, two_step, seed 1: Unknown key 'test_nepisodes'."),
        ("t_max: 20", "t_max: -1", "tiny.yaml: qmix, two_step, seed 1: t_max=-1: it must be"),
        (
            "algorithms: [qmix, vdn]",
            "algorithms: [qmix, vdn]\ncases: [{when: {algorithm: vdn, seed: 2}, settings: {mixer: vdm}}]",
            "tiny.yaml: vdn, two_step, seed 2: mixer=vdm",
        ),
        ("seeds: 2", "seeds: 2\nmaps: [3m]", "maps: the environment two_step has no maps"),
        ("seeds: 2", "seeds: 2\noverrides: {a: {x y: {}, x-y: {}}}", "two runs are the same: qmix+x-y-two_step-s1"),
        ("seeds: 2", "seeds: 2\noverrides: {a: {x: {lr: 0.1}, y: {lr: 0.1}}}", "the same: qmix+x-two_step-s1"),
        (
            "seeds: 2",
            "seeds: 2\ncases: [{when: {map: 3m}, settings: {lr: 0.1}}]",
            "the suite has no maps, so none is 3m",
        ),
        ("gpus: 0", "gpus: 64", "resources.gpus=64: this machine has"),
    ],
)
def test_a_suite_is_refused_before_anything_starts(suite, tmp_path, capsys, old, new, message):
    (tmp_path / "tiny.yaml").write_text(TINY.replace(old, new))
    assert suite("run", "tiny.yaml") == 2
    error = " ".join(capsys.readouterr().err.split())
    assert message in error and error.startswith("error: ")
    assert not (tmp_path / "results").exists()


def test_a_system_that_cannot_fork_is_refused(suite, tmp_path, monkeypatch, capsys):
    monkeypatch.delattr(os, "fork")
    assert suite("run", "tiny.yaml") == 2
    assert "error: suite.py run forks a process for each run, which this system cannot." in capsys.readouterr().err
    assert not (tmp_path / "results").exists()
    assert suite("run", "tiny.yaml", "--dry-run") == 0


@pytest.mark.parametrize(
    "words, message",
    [
        (["rn", "tiny.yaml"], "There is no command 'rn'. Did you mean 'run'?"),
        (["run", "tny.yaml"], "There is no file tny.yaml."),
        (["run", "skirmish_quik"], "Did you mean 'skirmish_quick'?"),
        (
            ["run", "tiny.yaml", "--jobs=1.5"],
            "1.5 is not a whole number from 1 to 4096. See python src/suite.py run --help.",
        ),
        (["run"], "The following arguments are required: SUITE."),
        (["run", "tiny.yaml", "--job=2"], "Unknown argument '--job=2'. Did you mean '--jobs'?"),
        (["run", "tiny.yaml", "--jobs=0"], "--jobs: 0 is not a whole number from 1 to 4096."),
        (["status", "tiny"], "The suite 'tiny' has not been started. results/suites has none."),
    ],
)
def test_a_mistyped_command_is_answered(suite, capsys, words, message):
    assert suite(*words) == 2
    assert message in " ".join(capsys.readouterr().err.split())


def test_a_dry_run_lists_the_runs_and_their_commands(suite, tmp_path, capsys):
    assert suite("run", "tiny.yaml", "--dry-run") == 0
    lines = capsys.readouterr().out.splitlines()[1:]
    assert len(lines) == 4 and not (tmp_path / "results").exists()
    assert "--config=qmix --env-config=two_step with test_nepisode=4 t_max=20 label='qmix' seed=1" in lines[0]


def test_a_run_whose_config_changes_while_the_suite_runs_is_not_started(suite, tmp_path, capsys):
    """Its results would stand under the id of another config."""
    own = tmp_path / "own.yaml"
    own.write_text((CONFIG_DIR / "algs" / "vdn.yaml").read_text())
    (tmp_path / "tiny.yaml").write_text(TINY.replace("[qmix, vdn]", "[qmix, own.yaml]").replace("jobs: 2", "jobs: 1"))
    begin = suite_launch.LocalLauncher._begin

    def changing(launcher, claim):
        own.write_text((CONFIG_DIR / "algs" / "vdn.yaml").read_text() + "\ngamma: 0.5\n")
        return begin(launcher, claim)

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
    assert "ValueError: no" in capsys.readouterr().out


def test_a_stop_leaves_a_mark_that_the_next_start_removes(suite, tmp_path, capsys):
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
        and "| qmix | 8.00 [8.00, 8.00], n = 2 |" in out
        and "| vdn | 6.00 [6.00, 6.00], n = 2 |" in out
    )
    folder = results / "suites" / "tiny"
    assert (folder / "table.md").read_text() in out
    exported = json.loads((folder / "marl_eval.json").read_text())
    assert exported["two_step"]["two_step"].keys() == {"qmix", "vdn"}
    page = (folder / "report.html").read_text()
    assert "tiny: 4 of 4 runs done" in page
    assert "also differ" not in page, "each run of a suite has a name of its own"
    assert "interquartile mean with 95 % bootstrap interval" in page and "Student" not in page
    made = SuiteFolder(results, "tiny")
    write_whole(str(made.place(attempt.run, 2)), Attempt(attempt.run, 2, state="dropped").to_bytes())
    assert suite("report", "tiny") == 0
    assert "tiny: 3 of 4 runs done, 1 dropped by the search" in (folder / "report.html").read_text()


def test_a_search_ranks_its_trials(suite, tmp_path, capsys):
    """Twenty of them, whose tests come to -(log10(lr) + 3)^2: the one nearest to 0.001 is the best."""
    pytest.importorskip("plotly")
    search = "search: {trials: 20, space: {lr: {log_uniform: [0.00001, 0.1]}}}"
    (tmp_path / "tiny.yaml").write_text(TINY.replace("[qmix, vdn]", "qmix").replace("t_max: 20", "t_max: 2") + search)
    assert suite("run", "tiny.yaml") == 0
    results, folder = tmp_path / "results", SuiteFolder(tmp_path / "results", "tiny")
    trials = folder.content()["trials"]
    value = {name: -((math.log10(settings["lr"]) + 3) ** 2) for name, settings in trials.items()}
    for number, run in enumerate(folder.runs(), 1):
        token = folder.newest()[run.id].token
        write_run(results, number, config={"label": run.algorithm, "seed": run.seed, "env": "two_step"},
                  info={"unique_token": token})  # fmt: skip
        write_log(results, token, [(t, t, t, "test_return_mean", value[run.choices["trial"]]) for t in (0, 2)])
    capsys.readouterr()
    assert suite("report", "tiny") == 0
    ranked = capsys.readouterr().out.partition("Trials by test_return_mean")[2].splitlines()[4:24]
    best = sorted(value, key=value.get, reverse=True)
    # of one map, in the statistic's own unit
    assert ranked[0].split(" | ")[2].startswith(f"{value[best[0]]:.4f} [")
    assert [line.split(" | ")[0] for line in ranked] == [f"| qmix+{name}" for name in best]
    assert ranked[0].split(" | ")[1] == str(trials[best[0]]["lr"]) and 0.0005 < trials[best[0]]["lr"] < 0.002


TPE = TINY.replace("[qmix, vdn]", "qmix").replace("t_max: 20", "t_max: 5") + (
    "search: {method: tpe, trials: 3, space: {lr: {log_uniform: [0.00001, 0.1]}, batch_size: {choice: [8, 16]}}}\n"
)


def test_a_search_that_learns_from_its_trials(suite, tmp_path, capsys):
    pytest.importorskip("optuna")
    (tmp_path / "tiny.yaml").write_text(TPE)
    assert suite("run", "tiny.yaml", "--dry-run") == 0
    assert "tiny: 3 trials of 2 runs each, checked in" in (out := capsys.readouterr().out)
    assert "qmix+t0-two_step-s2-" in out and not (tmp_path / "results").exists()
    assert suite("run", "tiny.yaml") == 0
    out = capsys.readouterr().out
    assert "3 of 3 trials: 3 done. The best: t" in out and "6 of 6 runs done." in out
    folder = SuiteFolder(tmp_path / "results", "tiny")
    trials = {trial.name: trial for trial in folder.trials()}
    assert list(trials) == ["t1", "t2", "t3"] and all(
        trial.settings["batch_size"] in (8, 16) for trial in trials.values()
    )
    assert all(f"lr={trial.settings['lr']!r}" in run.words for trial in trials.values() for run in trial.runs)
    # trials more change none
    (tmp_path / "tiny.yaml").write_text(TPE.replace("trials: 3", "trials: 4"))
    assert suite("run", "tiny.yaml") == 0
    assert [trial.settings for trial in folder.trials()][:3] == [trial.settings for trial in trials.values()]
    capsys.readouterr()
    assert suite("status", "tiny") == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "tiny: 8 of 8 runs done, 0 running, 0 waiting"
    assert lines[3].split()[:3] == ["qmix", "two_step", "8/8"]
    best = max(folder.trials(), key=lambda trial: trial.end.value)
    assert lines[5].startswith(f"4 of 4 trials: 4 done. The best: {best.name} with {best.end.value:.4g} (batch_size=")
    assert lines[7].split() == ["trial", "state", "value", "runs", "batch_size", "lr", "last", "error"]
    assert lines[8].split()[:4] == [best.name, "done", f"{best.end.value:.4g}", "2/2"]
    # another space is another search
    (tmp_path / "tiny.yaml").write_text(TPE.replace("0.1]", "0.01]"))
    assert suite("run", "tiny.yaml") == 0
    assert "0 new runs, 8 no longer in it" in capsys.readouterr().out


def test_a_statistic_that_no_run_has_logged_is_doubted_before_anything_starts(suite, tmp_path, capsys):
    def doubts(metric):
        (tmp_path / "tiny.yaml").write_text(TPE.replace("tpe, trials", f"random, metric: {metric}, trials"))
        assert suite("run", "tiny.yaml", "--dry-run") == 0
        return " ".join(capsys.readouterr().err.split())

    assert doubts("tset_return_mean") == (
        "warning: tiny.yaml: search.metric=tset_return_mean: no run in results has logged it so far. "
        "Did you mean 'test_return_mean'? A trial whose runs do not log it has no value."
    )
    # of runners; a part may log whatever it likes, and when it has, that is known
    assert doubts("test_ep_length_mean") == "" and "no run in results has logged it so far. A" in doubts("qqq")
    write_log(tmp_path / "results", "earlier", [(0, 0, 0, "qqq", 1.0)])
    assert doubts("qqq") == "" and "Did you mean 'qqq'?" in doubts("qqqq")


@pytest.mark.parametrize(
    "changes, words, message",
    [
        ({"[8, 16]": "[8, -1]"}, [], "tiny.yaml: qmix+t0, two_step, seed 1: batch_size=-1: it must be"),
        ({"batch_size": "batch_sze"}, [], "Unknown key 'batch_sze'"),
        ({"lr: {": "seed: {"}, [], "search.space.seed: it comes from the suite's key 'seeds'."),
        ({}, ["--launcher=slurm"], "search.method=tpe: --launcher=slurm starts runs that are known beforehand."),
        ({"seeds: 2": "seeds: 12", "trials: 3": "trials: 1000"}, [], "12000 runs; a suite may have 10000."),
    ],
)
def test_a_search_that_learns_is_refused_before_anything_starts(suite, tmp_path, capsys, changes, words, message):
    pytest.importorskip("optuna")
    content = TPE
    for old, new in changes.items():
        content = content.replace(old, new)
    (tmp_path / "tiny.yaml").write_text(content)
    assert suite("run", "tiny.yaml", *words) == 2
    error = " ".join(capsys.readouterr().err.split())
    assert message in error and error.startswith("error: ") and not (tmp_path / "results").exists()


def test_a_search_that_learns_names_its_package(suite, tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "optuna", None)
    (tmp_path / "tiny.yaml").write_text(TPE)
    assert suite("run", "tiny.yaml") == 2
    error = " ".join(capsys.readouterr().err.split())
    assert "search.method=tpe needs the package 'optuna', which is not installed." in error
    assert "pip install -r requirements-cluster.txt" in error and not (tmp_path / "results").exists()
