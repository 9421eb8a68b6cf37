"""What `suite.py` refuses before any run starts: suites that are wrong, systems that cannot fork, mistyped commands."""

import os

import pytest

from modules.mixers import REGISTRY as mixers
from tiny_suite import TINY

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    "old, new, message",
    [
        ("vdn]", "vnd]", "tiny.yaml: algorithms: there is no config/algs/vnd.yaml, nor such a file in"),
        ("vdn]", "vnd.yaml]", "tiny.yaml: There is no config file vnd.yaml in"),
        ("two_step", "two_stp", "Did you mean 'two_step'?"),
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
        (
            "test_nepisode: 4",
            "test_nepisode: 4, checkpoint_path: generalist",
            "t_max=20: checkpoint_path=generalist was trained for 2801132 steps, and a run that starts",
        ),
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
    assert suite("estimate", "tiny.yaml") == 2 and "suite.py estimate forks" in capsys.readouterr().err
    assert not (tmp_path / "results").exists()
    assert suite("run", "tiny.yaml", "--dry-run") == 0


def test_a_machine_that_cannot_submit_jobs_is_refused(suite, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert suite("run", "tiny.yaml", "--launcher=slurm") == 2
    assert "error: sbatch was not found: --launcher=slurm needs SLURM's commands." in capsys.readouterr().err
    assert not (tmp_path / "results").exists()
    assert suite("run", "tiny.yaml", "--launcher=slurm", "--dry-run") == 0


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


@pytest.fixture
def apart(suite, tmp_path):
    """A suite's file in a folder of its own, with an algorithm, an environment and a plugin beside it."""
    folder = tmp_path / "mine"
    folder.mkdir()
    algorithm = TINY.replace("qmix", "own_alg").replace("two_step", "own_env").replace("vdn]", "qmix]")
    (folder / "tiny.yaml").write_text(algorithm.replace("settings: {", "settings: {plugins: [own_mixer.py], "))
    (folder / "own_alg.yaml").write_text("name: own_alg\nlearner: q_learner\nmixer: beside\n")
    (folder / "own_env.yaml").write_text("env: two_step\nt_max: 40\n")
    mixer = (
        "from modules.mixers import REGISTRY\nfrom modules.mixers.vdn import VDNMixer\nREGISTRY['beside'] = VDNMixer\n"
    )
    (folder / "own_mixer.py").write_text(mixer)
    return folder


def test_files_of_a_suite_lie_beside_it_or_in_the_current_folder(suite, apart, tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(mixers._entries, "beside", None)
    del mixers._entries["beside"]
    assert suite("run", "mine/tiny.yaml", "--dry-run") == 0, capsys.readouterr().err
    (line, *_) = [line for line in capsys.readouterr().out.splitlines() if line.startswith("own_alg-")]
    assert "--config=mine/own_alg.yaml --env-config=mine/own_env.yaml" in line and str(apart / "own_mixer.py") in line
    for name in ("own_alg.yaml", "own_env.yaml", "own_mixer.py"):
        (apart / name).rename(tmp_path / name)
    assert suite("run", "mine/tiny.yaml", "--dry-run") == 0, capsys.readouterr().err
    assert "--config=own_alg.yaml --env-config=own_env.yaml" in capsys.readouterr().out
    for name in ("own_mixer.py", "own_alg.yaml"):
        (tmp_path / name).unlink()
        assert suite("run", "mine/tiny.yaml", "--dry-run") == 2
        assert f"in {apart} or {tmp_path}." in " ".join(capsys.readouterr().err.split())
