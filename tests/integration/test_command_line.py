"""Whole runs as a user types them, each in its own process."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from forked import run_command

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
SMALL = ["t_max=120", "batch_size=4", "buffer_size=16", "seed=7"]


# read by Python at its start
AT_EXIT = """
import atexit, gc, pathlib
atexit.register(lambda: pathlib.Path("garbage.txt").write_text(f"{gc.isenabled()} {gc.get_freeze_count() > 100_000}"))
"""


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """One run with everything switched on, and its folder."""
    folder = tmp_path_factory.mktemp("finished")
    settings = [*SMALL, "save_model=True", "use_tensorboard=True", "test_interval=40", "log_interval=40"]
    words = ["--env-config", "two_step", "--config", "qmix", "-n", "my run", "-c", "a comment", "with", *settings]
    command = [sys.executable, str(ROOT / "src" / "main.py"), *words]
    (folder / "sitecustomize.py").write_text(AT_EXIT)
    env = {**os.environ, "PYTHONPATH": str(folder)}
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120, env=env)
    assert done.returncode == 0, done.stderr
    return done, folder / "results"


def _load(path):
    return json.loads(path.read_text())


def test_the_sacred_run_is_complete(finished):
    """PyMARL's runs stay RUNNING, without their last statistics and lines: it leaves by os._exit."""
    done, results = finished
    run = _load(results / "sacred" / "1" / "run.json")
    info = _load(results / "sacred" / "1" / "info.json")
    assert run["status"] == "COMPLETED"
    assert run["result"] == info["test_return_mean"][-1]
    assert run["experiment"]["name"] == "my run"
    assert run["meta"]["comment"] == "a comment"
    assert info["test_return_mean_T"] == [2, 42, 82, 122]
    assert all(type(value) is float for value in info["grad_norm"])
    metrics = _load(results / "sacred" / "1" / "metrics.json")
    assert metrics["test_return_mean"]["steps"] == info["test_return_mean_T"]
    assert metrics["test_return_mean"]["values"] == info["test_return_mean"]
    console = (results / "sacred" / "1" / "cout.txt").read_text()
    assert "Finished Training: 122 steps" in console
    assert "Recent Stats | t_env:        122 | Episode:       61" in console
    assert "Finished Training" in done.stdout
    sources = {name for name, _ in run["experiment"]["sources"]}
    assert {"main.py", "run.py", "learners/q_learner.py"} <= {name.replace(os.sep, "/") for name in sources}


def test_a_run_collects_garbage_though_its_imports_do_not(finished):
    _, results = finished
    enabled, imports_kept_apart = (results.parent / "garbage.txt").read_text().split()
    assert enabled == imports_kept_apart == "True"


def test_sacred_stores_the_merged_config(finished):
    _, results = finished
    config = _load(results / "sacred" / "1" / "config.json")
    assert config["t_max"] == 120
    assert config["hypernet_layers"] == 2
    assert config["gamma"] == 0.99
    assert config["env_args"] == {"seed": None}
    assert config["seed"] == 7


def test_tensorboard_reads_the_same_figures(finished):
    _, results = finished
    (folder,) = (results / "tb_logs").iterdir()
    events = EventAccumulator(str(folder))
    events.Reload()
    info = _load(results / "sacred" / "1" / "info.json")
    for key in ("test_return_mean", "loss", "epsilon"):
        scalars = events.Scalars(key)
        assert [s.step for s in scalars] == info[f"{key}_T"]
        assert [s.value for s in scalars] == pytest.approx(info[key], rel=1e-6)


def test_print_config_shows_the_merged_config_and_writes_nothing(tmp_path):
    done = run_command(
        "print_config", "--config=vdn", "--env-config=two_step", "with", "lr=0.1", "env_args.seed=3", cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    plain = done.stdout.replace("\x1b[34m", "").replace("\x1b[0m", "")
    assert "lr = 0.1" in plain
    assert "mixer = 'vdn'" in plain
    assert "test_nepisode = 1" in plain
    assert os.listdir(tmp_path) == []


def test_parts_that_do_not_fit_together_leave_no_run(tmp_path):
    results = tmp_path / "results"
    words = ["--config=ppo", "--env-config=matrix", "with", "use_tensorboard=True", "agent=cnn", *SMALL]
    done = run_command(*words, cwd=tmp_path)
    assert (done.returncode, "Results" in done.stdout + done.stderr) == (2, False)
    assert "agent=cnn: the environment shows no picture" in done.stderr
    left = {file.name for file in results.rglob("*") if "_sources" not in file.parts}
    assert left == {"sacred", "runs"}


def test_sacreds_help_still_works(tmp_path):
    done = run_command("help", "print_config", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "print_config" in done.stdout
