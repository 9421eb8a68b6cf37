"""An environment process that raises, dies or is left alone (defect 3: the family waits for ever)."""

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from assembly import assemble
from envs import REGISTRY
from fakes import CountingEnv, RecordingLogger
from helpers import make_args
from runners.workers import EnvironmentWorkerError, EnvironmentWorkers

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def counting_env(monkeypatch):
    monkeypatch.setitem(REGISTRY._entries, "counting", None)
    REGISTRY["counting"] = CountingEnv


def _parts(seed=10, batch_size_run=3, **env_args):
    args = make_args(
        env="counting", env_args={**env_args, "seed": seed}, runner="parallel", batch_size_run=batch_size_run
    )
    return assemble(args, RecordingLogger())


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ("raise", ["Environment 1 failed in step()", "the simulator lost its map", "Traceback", "fakes.py"]),
        ("exit", ["Environment 1's process", "died in step()", "exit code 7"]),
        ("kill", ["Environment 1's process", "died in step()", "SIGKILL"]),
    ],
)
def test_a_failing_worker_ends_the_rollout_within_seconds(how, words):
    parts = _parts(fault=(2, how), fault_seed=11)
    start = time.time()
    with pytest.raises(EnvironmentWorkerError) as error:
        parts.runner.run()
    assert time.time() - start < 10
    for word in words:
        assert word in str(error.value)
    parts.runner.close_env()
    assert multiprocessing.active_children() == []


def test_a_worker_killed_between_rollouts_is_noticed():
    parts = _parts()
    parts.runner.run()
    os.kill(parts.runner.workers.processes[2].pid, signal.SIGKILL)
    with pytest.raises(EnvironmentWorkerError, match=r"Environment 2's process .* SIGKILL"):
        parts.runner.run()
    parts.runner.close_env()


def test_an_environment_that_cannot_be_made_is_reported_and_nothing_is_left_running():
    with pytest.raises(EnvironmentWorkerError, match="unexpected keyword argument 'no_such'"):
        _parts(no_such=1)
    assert multiprocessing.active_children() == []


def test_closing_twice_is_harmless():
    parts = _parts()
    parts.runner.close_env()
    parts.runner.close_env()


def test_a_worker_that_ignores_close_is_ended(monkeypatch):
    monkeypatch.setattr("runners.workers.CLOSE_TIMEOUT", 0.5)
    workers = EnvironmentWorkers([{False: _Stubborn, True: _Stubborn}], separate_test_env=False)
    workers.call([0], "get_env_info")
    (process,) = workers.processes
    start = time.time()
    workers.close()
    assert time.time() - start < 4
    assert not process.is_alive()


class _Stubborn:
    def get_env_info(self):
        return {"episode_limit": 1}

    def close(self):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        time.sleep(60)


def _start_training(folder):
    command = [sys.executable, str(ROOT / "src" / "main.py"), "--config=vdn_beta", "--env-config=two_step", "with"]
    command += ["batch_size_run=2", "t_max=100000000", f"local_results_path={folder}", "seed=1"]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    _wait_until(lambda: any("spawn_main" in " ".join(_command(c)) for c in _children(process.pid)))
    for line in process.stdout:
        if "t_env" in line:
            return process
    raise AssertionError(f"training did not start: {process.stderr.read()}")


def _children(pid):
    try:
        return psutil.Process(pid).children(recursive=True)
    except psutil.NoSuchProcess:
        return []


def _command(process):
    try:
        return process.cmdline()
    except (psutil.NoSuchProcess, psutil.ZombieProcess):
        return []


def _wait_until(condition, seconds=30):
    deadline = time.time() + seconds
    while not condition():
        assert time.time() < deadline
        time.sleep(0.05)


def _gone(processes):
    return all(not p.is_running() or p.status() == psutil.STATUS_ZOMBIE for p in processes)


def test_ctrl_c_closes_every_child(tmp_path):
    process = _start_training(tmp_path)
    children = _children(process.pid)
    assert len(children) >= 2
    # a terminal sends it to the whole group
    os.killpg(process.pid, signal.SIGINT)
    _, errors = process.communicate(timeout=20)
    assert process.returncode == 130
    assert "interrupted" in errors
    assert "Traceback" not in errors
    _wait_until(lambda: _gone(children), seconds=10)


def test_workers_end_with_a_trainer_that_was_killed(tmp_path):
    process = _start_training(tmp_path)
    children = _children(process.pid)
    process.kill()
    process.communicate(timeout=20)
    _wait_until(lambda: _gone(children), seconds=10)


def test_a_killed_worker_ends_the_command_with_a_message(tmp_path):
    process = _start_training(tmp_path)
    worker = next(c for c in _children(process.pid) if "spawn_main" in " ".join(_command(c)))
    worker.kill()
    _, errors = process.communicate(timeout=20)
    assert process.returncode == 1
    assert "stopped: Environment" in errors
    assert "SIGKILL" in errors
    assert "Traceback" not in errors
    assert '"status": "FAILED"' in (tmp_path / "sacred" / "1" / "run.json").read_text()
