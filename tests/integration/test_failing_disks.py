"""Whole runs on disks that fill up, and with results that somebody removes."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from helpers import fill_disk, small_disk
from learners.q_learner import QLearner
from run import run
from utils.config import config_path, default_config, recursive_dict_update
from utils.yaml_files import load_yaml

ROOT = Path(__file__).resolve().parents[2]
SMALL = ["t_max=200", "batch_size=4", "buffer_size=16", "seed=7", "test_interval=40", "log_interval=20"]


def _muster(*words, cwd):
    command = [sys.executable, str(ROOT / "src" / "main.py"), "--config=vdn", "--env-config=two_step", *words]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=120)


def test_an_id_that_is_a_path_is_refused(tmp_path):
    done = _muster("--id", "../up", "with", *SMALL, cwd=tmp_path)
    assert done.returncode == 2, done.stderr
    assert done.stderr.startswith("error: --id=../up: it names a folder")
    assert "Traceback" not in done.stdout + done.stderr
    assert os.listdir(tmp_path) == []


def test_a_full_disk_at_the_start_is_one_message(tmp_path):
    with small_disk(tmp_path / "results") as disk:
        fill_disk(disk)
        done = _muster("with", *SMALL, cwd=tmp_path)
    assert done.returncode == 1, done.stderr
    (line,) = [line for line in done.stderr.splitlines() if not line.startswith("[")]
    assert line.startswith("stopped: The record of this run cannot be written under")
    assert "No space left on device" in line
    assert "Traceback" not in done.stdout + done.stderr


def test_the_option_for_a_folder_records_in_our_way(tmp_path):
    done = _muster("-F", "elsewhere", "--id", "my-run_1.2", "with", *SMALL, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    for folder in (tmp_path / "elsewhere" / "my-run_1.2", tmp_path / "results" / "sacred" / "my-run_1.2"):
        assert json.loads((folder / "run.json").read_text())["status"] == "COMPLETED"
        assert (folder / "run.json").stat().st_mode & 0o077 == 0
        assert "\n" in (folder / "info.json").read_text()


@pytest.mark.parametrize("how", ["removed", "full"])
def test_training_goes_on_without_its_results(tmp_path, monkeypatch, caplog, how):
    config = default_config()
    recursive_dict_update(config, load_yaml(config_path("two_step", "envs")))
    recursive_dict_update(config, load_yaml(config_path("vdn", "algs")))
    with small_disk(tmp_path / "disk", "128k") as disk:
        small = {"t_max": 200, "batch_size": 4, "buffer_size": 16, "seed": 7, "test_interval": 40, "log_interval": 20}
        config |= {**small, "use_tensorboard": True, "local_results_path": str(disk / "results")}
        expected = run(dict(config, use_tensorboard=False))
        train = QLearner.train

        def train_on_a_bad_disk(learner, batch, t_env, episode_num):
            if t_env == 100 and how == "full":
                fill_disk(disk)
            elif t_env in (60, 100):
                shutil.rmtree(disk / "results")
            return train(learner, batch, t_env, episode_num)

        monkeypatch.setattr(QLearner, "train", train_on_a_bad_disk)
        assert run(config) == expected
        assert len([message for message in caplog.messages if "TensorBoard's event file" in message]) == (
            2 if how == "removed" else 1
        )
        assert (disk / "results" / "tb_logs").is_dir()
