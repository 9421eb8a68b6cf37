"""Whole runs on disks that fill up, and with results that disappear."""

import errno
import json
import os
import shutil
import time
from pathlib import Path

import pytest

from checkpoints.resumption import Resumption
from checkpoints.store import newest_checkpoint
from cli.compose import compose_config
from forked import run_command
from helpers import fill_disk, small_disk
from learners.q_learner import QLearner
from main import main
from run import run
from utils.errors import MusterError

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
SMALL = ["t_max=200", "batch_size=4", "buffer_size=16", "seed=7", "test_interval=40", "log_interval=20"]


def _config(disk, **changes):
    small = {"batch_size": 4, "buffer_size": 16, "seed": 7, "log_interval": 20}
    return compose_config("vdn", "two_step").config | {**small, "local_results_path": str(disk / "results"), **changes}


def _muster(*words, cwd):
    return run_command("--config=vdn", "--env-config=two_step", *words, cwd=cwd)


def test_a_full_disk_at_the_start_is_one_message(tmp_path):
    with small_disk(tmp_path / "results") as disk:
        fill_disk(disk)
        done = _muster("with", *SMALL, cwd=tmp_path)
    assert done.returncode == 1, done.stderr
    (line,) = [line for line in done.stderr.splitlines() if not line.startswith("[")]
    assert line.startswith("stopped: The record of this run cannot be written under")
    assert "No space left on device" in line
    assert "Traceback" not in done.stdout + done.stderr


def test_a_disk_that_fills_up_after_sacred_has_begun_is_one_message(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    make = Path.mkdir

    def full(path, *arguments, **options):
        if path.parent.name == "runs":
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        make(path, *arguments, **options)

    monkeypatch.setattr(Path, "mkdir", full)
    assert main(["--config=vdn", "--env-config=two_step", "with", *SMALL, "run_name=first"]) == 1
    shown = capsys.readouterr()
    told = (
        "stopped: The folder of this run cannot be made: results/runs/first: No space left on device. Make room there"
    )
    assert told in " ".join(shown.err.split())
    assert "Traceback" not in shown.out + shown.err


def test_the_option_for_a_folder_records_in_our_way(tmp_path):
    done = _muster("-F", "elsewhere", "--id", "my-run_1.2", "with", *SMALL, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    for folder in (tmp_path / "elsewhere" / "my-run_1.2", tmp_path / "results" / "sacred" / "my-run_1.2"):
        assert json.loads((folder / "run.json").read_text())["status"] == "COMPLETED"
        assert (folder / "run.json").stat().st_mode & 0o077 == 0
        assert "\n" in (folder / "info.json").read_text()


def _remove(folder):
    """As `rm -rf`: the run's own threads may remove older checkpoints of it at the same time."""
    while folder.exists():
        shutil.rmtree(folder, ignore_errors=True)


@pytest.mark.parametrize("how", ["removed", "full"])
def test_training_continues_without_its_results(tmp_path, monkeypatch, caplog, how):
    with small_disk(tmp_path / "disk", "128k") as disk:
        often = {
            "learner_log_interval": 2,
            "runner_log_interval": 2,
        }  # more than the page that its file has on the disk
        config = _config(disk, t_max=130, test_interval=40, use_tensorboard=True, **often)
        expected = run(dict(config, use_tensorboard=False))
        train = QLearner.train

        def train_on_a_bad_disk(learner, batch, t_env, episode_num):
            if t_env == 100 and how == "full":
                fill_disk(disk)
            elif t_env == 60 and how == "removed":
                _remove(disk / "results")
            return train(learner, batch, t_env, episode_num)

        monkeypatch.setattr(QLearner, "train", train_on_a_bad_disk)
        assert run(config) == expected
        (warning,) = [message for message in caplog.messages if "TensorBoard's event file" in message]
        assert ("it was removed" if how == "removed" else "No space left on device") in warning


def _trained_on(disk, monkeypatch, fill, free, **changes):
    """Run with checkpoints, on a disk that is full from step `fill` to step `free`."""
    config = _config(disk, **{"t_max": 200, "test_interval": 50, "checkpoint_interval": 20, **changes})
    train, filler = QLearner.train, []

    def train_on_a_bad_disk(learner, batch, t_env, episode_num):
        if t_env == fill:
            filler.append(fill_disk(disk))
        elif t_env == free:
            filler.pop().unlink()
        time.sleep(0.002)
        return train(learner, batch, t_env, episode_num)

    monkeypatch.setattr(QLearner, "train", train_on_a_bad_disk)
    return run(config)


def _wait_for_checkpoint(results):
    """The thread that writes it has put it in place."""
    while list(results.glob("runs/*/checkpoints/.*")) or not list(results.glob("runs/*/checkpoints/90/manifest.json")):
        time.sleep(0.005)


def test_a_checkpoint_after_the_results_were_removed_is_whole(tmp_path, monkeypatch, caplog):
    train, results = QLearner.train, tmp_path / "results"

    def remove(learner, batch, t_env, episode_num):
        if t_env == 100:
            _wait_for_checkpoint(results)
            _remove(results)
        return train(learner, batch, t_env, episode_num)

    config = {"env": "two_step", "t_max": 200, "batch_size": 4, "buffer_size": 90, "seed": 7, "checkpoint_interval": 30}
    config |= {"local_results_path": str(results), "test_nepisode": 1}
    expected = run({**config, "t_max": 300, "checkpoint_interval": 0, "local_results_path": str(tmp_path / "straight")})
    monkeypatch.setattr(QLearner, "train", remove)
    monkeypatch.setattr("experiment.saving.RETRY_AFTER", ())
    run(config)
    resume = Resumption.of("latest", results)
    assert resume.checkpoint.manifest["t_env"] == 202
    assert run({**resume.config_of(resume.recorded), "t_max": 300}, resume=resume) == expected


def test_a_resume_command_is_printed_only_for_what_is_there(tmp_path, monkeypatch):
    train, results = QLearner.train, tmp_path / "results"

    def break_down(learner, batch, t_env, episode_num):
        if t_env == 100:
            _wait_for_checkpoint(results)
            _remove(results)
            monkeypatch.setattr("checkpoints.writer.NewFolder.__init__", lambda *_: os.stat("gone"))
            raise MusterError("The simulator is lost.")
        return train(learner, batch, t_env, episode_num)

    monkeypatch.setattr(QLearner, "train", break_down)
    monkeypatch.setattr("experiment.saving.RETRY_AT_THE_END", ())
    config = {"env": "two_step", "t_max": 200, "batch_size": 4, "seed": 7, "checkpoint_interval": 30}
    with pytest.raises(MusterError, match=r"There is no checkpoint to resume from: those in .* were removed") as error:
        run({**config, "local_results_path": str(results)})
    assert "--resume" not in str(error.value)


def test_a_run_stops_if_checkpoints_cannot_be_written_for_long(tmp_path, monkeypatch, caplog):
    monkeypatch.setattr("experiment.saving.RETRY_AFTER", (0.01, 0.02))
    with small_disk(tmp_path / "disk", "1m") as disk:
        with pytest.raises(MusterError, match=r"No checkpoint could be written in .*No space left on device") as error:
            _trained_on(disk, monkeypatch, fill=100, free=None)
        told = [message for message in caplog.messages if "A checkpoint could not be written" in message]
        assert len(told) == 2
        assert "next attempt in 0 seconds" in told[0]
        # what was written before is whole, and named
        newest, problems = newest_checkpoint(next((disk / "results" / "runs").iterdir()))
        assert problems == []
        assert newest.manifest["t_env"] <= 100
        assert f"checkpoint of step {newest.manifest['t_env']} with: python src/main.py --resume=" in str(error.value)


def test_a_run_continues_if_the_disk_has_room_again(tmp_path, monkeypatch, caplog):
    caplog.set_level("INFO")
    monkeypatch.setattr("experiment.saving.RETRY_AFTER", (0.2,) * 50)
    with small_disk(tmp_path / "disk", "4m") as disk:
        expected = _trained_on(disk, monkeypatch, fill=None, free=None, local_results_path=str(tmp_path / "elsewhere"))
        caplog.clear()
        assert _trained_on(disk, monkeypatch, fill=100, free=122) == expected
        newest, _ = newest_checkpoint(next((disk / "results" / "runs").iterdir()))
        assert newest.manifest["t_env"] > 200
    assert "A checkpoint could not be written" in caplog.text
    assert caplog.text.count("Checkpoints can be written again") == 1


def test_models_that_cannot_be_saved_do_not_end_the_training(tmp_path, monkeypatch, caplog):
    with small_disk(tmp_path / "disk", "1m") as disk:
        settings = {"checkpoint_interval": 0, "save_model": True, "save_model_interval": 50}
        _trained_on(disk, monkeypatch, fill=80, free=180, **settings)
        saved = sorted(int(path.name) for path in (disk / "results").glob("models/*/[0-9]*"))
    assert saved == [2, 52, 202]
    assert caplog.text.count("The models of step") == 2
    assert "The best models, of step" in caplog.text
