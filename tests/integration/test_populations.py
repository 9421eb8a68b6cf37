"""Suites that train a population, with real runs: what continues from what, and a search that is resumed."""

import os

import pytest

from checkpoints.store import newest_checkpoint
from records.layout import RUNS
from suite import main
from suites.launch import launcher as launchers
from suites.state.state import SuiteFolder
from tiny_suite import TINY

PBT = TINY.replace("[qmix, vdn]", "qmix").replace("t_max: 20", "t_max: 60") + (
    "search: {method: pbt, members: 2, generations: 3, truncation: 0.5, "
    "space: {lr: {log_uniform: [0.00001, 0.1]}, batch_size: {int: [4, 8]}}}\n"
)


pytestmark = pytest.mark.slow


@pytest.fixture
def suite(tmp_path, monkeypatch):
    """The command line for a suite in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(launchers, "LOOK", 0.05)
    return lambda command, *words: main([command, *words])


def test_a_suite_trains_a_population_and_resumes_it(suite, tmp_path, capsys):
    (tmp_path / "tiny.yaml").write_text(PBT)
    assert suite("run", "tiny.yaml", "--jobs=1") == 0
    results, folder = tmp_path / "results", SuiteFolder(tmp_path / "results", "tiny")
    assert "6 of 6 trials: 6 done." in capsys.readouterr().out
    trials, newest = folder.trials(), folder.newest()
    assert [trial.number for trial in trials] == [1, 2, 3, 4, 5, 6]
    plan = folder.plan()
    copies = [trial for trial in trials if plan.copies(trial)]
    assert len(copies) == 2 and all(plan.generation(one.parent) == plan.generation(one.number) - 1 for one in copies)
    for trial in trials:
        steps = {run.t_max for run in trial.runs}
        assert steps == {20 * plan.generation(trial.number)} and len(trial.runs) == 2
        for run in trial.runs:
            origins = [word for word in run.words if word.startswith("branch_from=")]
            assert len(origins) == (trial.parent > 0)
            if trial.parent:  # of the run with the same seed
                (before,) = (one for one in trials[trial.parent - 1].runs if one.seed == run.seed)
                token = newest[before.id].token
                assert origins == [f"branch_from='{results / RUNS / token}'"]
                begun = newest_checkpoint(results / RUNS / token)[0].manifest
                own = newest_checkpoint(results / RUNS / newest[run.id].token)[0].manifest
                assert own["t_env"] > begun["t_env"] and own["config"]["lr"] == trial.settings["lr"]
    # a launcher that begins without the files of the last two generations makes the same ones, two runs at a time
    made = [(trial.settings, trial.parent, [run.id for run in trial.runs]) for trial in trials]
    for number in (3, 4, 5, 6):
        for place in folder.path.glob(f"search/*/t{number}.*"):
            os.unlink(place)
    for attempt in list(folder.attempts.glob("*+t[3-6]-*")):
        attempt.unlink()
    assert suite("run", "tiny.yaml", "--jobs=2") == 0
    folder = SuiteFolder(results, "tiny")
    assert [(trial.settings, trial.parent, [run.id for run in trial.runs]) for trial in folder.trials()] == made
    capsys.readouterr()
    assert suite("status", "tiny") == 0
    lines = capsys.readouterr().out.splitlines()
    head = next(line for line in lines if line.startswith("trial"))
    assert head.split() == ["trial", "state", "value", "runs", "gen.", "member", "copied", "batch_size", "lr"]
    assert (
        sum(line.split()[6] == f"t{one.parent}" for line in lines for one in copies if line.startswith(one.name)) == 2
    )


@pytest.mark.parametrize(
    ("changes", "words", "said"),
    [
        (
            {"batch_size:": "rnn_hidden_dim:"},
            [],
            "search.space.rnn_hidden_dim: members of a population copy checkpoints",
        ),
        ({"batch_size:": "t_max:"}, [], "search.space.t_max: members"),
        ({"search:": "settings: {last_checkpoint: False}\nsearch:"}, [], "last_checkpoint=False: members"),
        ({}, ["--launcher=slurm"], "search.method=pbt: --launcher=slurm"),
    ],
)
def test_a_population_is_refused_before_anything_starts(suite, tmp_path, capsys, changes, words, said):
    content = PBT
    for old, new in changes.items():
        content = content.replace(old, new)
    if content.count("settings:") > 1:
        content = "\n".join(
            line for line in content.splitlines() if "last_checkpoint" in line or "settings" not in line
        )
    (tmp_path / "tiny.yaml").write_text(content)
    assert suite("run", "tiny.yaml", *words) == 2
    assert said in " ".join(capsys.readouterr().err.split()) and not (tmp_path / "results").exists()
