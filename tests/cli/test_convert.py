"""Linesight's weights become a model by the command line, which plays and trains on."""

import shlex

import pytest
import torch as th

import convert as command
import linesight_network as theirs
from forked import run_command

WORDS = ["env_args.zones_ahead=2", "env_args.metres=60", "env_args.time_limit=20", "env_args.view=both"]


def converting(folder, tmp_path, *words, options=()):
    own = [*WORDS, f"local_results_path={tmp_path / 'results'}"]
    return command.main([str(folder), "--config=iqn", "--env-config=racing", *options, "with", *own, *words])


def test_the_folder_of_a_run_becomes_a_model(tmp_path, capsys):
    assert converting(theirs.saved(tmp_path, "_orig_mod."), tmp_path) == 0
    text = capsys.readouterr().out
    (model,) = (tmp_path / "results" / "models").glob("linesight_run_seed1_racing_*/4321")
    assert sorted(path.name for path in model.iterdir()) == ["agent.th", "manifest.json", "opt.th"]
    assert "rnn_hidden_dim=6 head_dim=5 tau_features=4" in text and f"checkpoint_path={model.parent}" in text
    assert "scaler.torch is not used" in text and "hock 54.320 s" in text
    moments = th.load(model / "opt.th", weights_only=True)["state"]
    assert len(moments) == len(theirs.weights()) and all(float(one["step"]) == 1 for one in moments.values())


@pytest.mark.slow
def test_the_model_plays_and_learns_on_by_the_command_that_it_names(tmp_path, capsys):
    assert converting(theirs.saved(tmp_path), tmp_path) == 0
    (line,) = [line for line in capsys.readouterr().out.splitlines() if "src/main.py" in line]
    words = shlex.split(line)[2:]
    learning = ["t_max=4400", "batch_size_run=1", "rollout_steps=8", "buffer_min=16", "batch_size=8", "buffer_size=99"]
    done = run_command(*words, *learning, "test_nepisode=1", cwd=tmp_path)
    assert done.returncode == 0, done.stderr[-2000:]
    said = done.stdout + done.stderr
    assert "4321" in said and "Test after 43" in said


def test_a_checkpoint_path_of_theirs_names_the_command(tmp_path):
    from checkpoints.model_files import find_checkpoint
    from utils.errors import ConfigError

    with pytest.raises(ConfigError, match=r"weights of Linesight: `python src/convert.py "):
        find_checkpoint(str(theirs.saved(tmp_path)), 0)


@pytest.mark.parametrize(
    ("words", "options", "message"),
    [
        (["env_args.zones_ahead=3"], [], "scales 70 floats; env=racing has 73"),
        (["head_dim=9"], [], "A_head.0.weight has the shape"),
        (["env_args.view=float"], [], "env_args.view=both"),
        (["agent=ff", "learner=q_learner"], [], ""),
        ([], ["--normalisation=missing.py"], "missing.py cannot be read"),
    ],
)
def test_what_does_not_fit_is_refused(tmp_path, capsys, words, options, message):
    assert converting(theirs.saved(tmp_path), tmp_path, *words, options=options) == 2
    error = " ".join(capsys.readouterr().err.split())
    assert error.startswith("error: ") and message in error
    assert not list((tmp_path / "results").rglob("*.th"))


def test_the_scales_must_be_known(tmp_path, capsys):
    folder = theirs.saved(tmp_path / "theirs")
    (tmp_path / "theirs" / "config_files" / "state_normalization.py").rename(tmp_path / "scales.py")
    assert converting(folder, tmp_path) == 2
    assert "--normalisation=FILE" in capsys.readouterr().err
    assert converting(folder, tmp_path, options=[f"--normalisation={tmp_path / 'scales.py'}", "--step=7"]) == 0
    assert list((tmp_path / "results" / "models").glob("*/7/agent.th"))


def test_another_optimiser_and_missing_files_are_said(tmp_path, capsys):
    folder = theirs.saved(tmp_path)
    assert converting(folder, tmp_path, "optimizer=adam") == 0
    assert "optimizer1.torch is not used: it is RAdam's" in capsys.readouterr().out
    for name in ("optimizer1.torch", "accumulated_stats.joblib"):
        (folder / name).unlink()
    assert converting(folder, tmp_path) == 0
    assert "optimizer1.torch is missing" in capsys.readouterr().out
