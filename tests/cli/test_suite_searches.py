"""`suite.py` with a search: how trials are ranked, what learns from them, and what is refused."""

import math
import sys

import pytest

from results_folders import write_log, write_run
from suites.state.state import SuiteFolder
from tiny_suite import TINY

pytestmark = pytest.mark.slow


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
    section = capsys.readouterr().out.partition("Trials by test_return_mean")[2]
    ranked = section.partition("| --")[2].splitlines()[1:21]
    best = sorted(value, key=value.get, reverse=True)
    # of one map, in the statistic's own unit
    assert ranked[0].split(" | ")[2].startswith(f"{value[best[0]]:.4f} (")
    assert [line.split(" | ")[0].rstrip() for line in ranked] == [f"| qmix+{name}" for name in best]
    assert ranked[0].split(" | ")[1].rstrip() == str(trials[best[0]]["lr"]) and 0.0005 < trials[best[0]]["lr"] < 0.002


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
    assert lines[7].split() == ["trial", "state", "value", "runs", "batch_size", "lr"]
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
