"""An environment process that raises, dies or is left alone (PyMARL waits for it for ever)."""

import errno
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import numpy as np
import psutil
import pytest

from envs import REGISTRY
from experiment.assembly import assemble
from fakes import CountingEnv, MisshapenEnv, RecordingLogger, StubbornEnv, TalkativeEnv
from forked import Command
from helpers import hear_ctrl_c, make_args
from utils.errors import MusterError
from vector_envs import TRANSPORTS
from vector_envs.faults import EnvironmentWorkerError
from vector_envs.process import WorkerProcess

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def counting_env(monkeypatch):
    monkeypatch.setitem(REGISTRY._entries, "counting", None)
    REGISTRY["counting"] = CountingEnv


def _parts(env_transport, envs_per_worker=1, worker_timeout=300, **env_args):
    args = make_args(
        env="counting",
        env_args={**env_args, "seed": 10},
        runner="parallel",
        batch_size_run=3,
        env_transport=env_transport,
        envs_per_worker=envs_per_worker,
        on_worker_fault="stop",
        worker_timeout=worker_timeout,
    )
    return assemble(args, RecordingLogger())


@pytest.mark.parametrize(
    ("transport", "how", "words"),
    [
        ("pipe", "raise", ["Environment 1 failed in step()", "the simulator lost its map", "Traceback", "fakes.py"]),
        ("shared_memory", "raise", ["Environment 1 failed in step()", "the simulator lost its map"]),
        ("pipe", "exit", ["Environment 1's process", "died in step()", "exit code 7"]),
        ("shared_memory", "kill", ["Environment 1's process", "died in step()", "SIGKILL"]),
        ("pipe", "hang", ["Environment 1's process", "did not answer to step() for 1.5 seconds (worker_timeout)"]),
    ],
)
def test_a_failing_worker_ends_the_rollout_within_seconds(transport, how, words):
    parts = _parts(transport, worker_timeout=1.5 if how == "hang" else 300, fault=(2, how), fault_seed=11)
    start = time.time()
    with pytest.raises(EnvironmentWorkerError) as error:
        parts.runner.run()
    assert time.time() - start < 100
    for word in words:
        assert word in str(error.value)
    parts.runner.close_env()
    assert multiprocessing.active_children() == []


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_of_several_environments_in_a_process_the_right_one_is_named(transport):
    parts = _parts(transport, envs_per_worker=2, fault=(2, "raise"), fault_seed=11)
    with pytest.raises(EnvironmentWorkerError, match=r"Environment 1 failed in step\(\)"):
        parts.runner.run()
    parts.runner.close_env()


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_a_worker_killed_between_rollouts_is_noticed(transport):
    parts = _parts(transport, envs_per_worker=2)
    parts.runner.run()
    os.kill(parts.runner.env.workers[0].process.pid, signal.SIGKILL)
    with pytest.raises(EnvironmentWorkerError, match=r"The process of environments 0 to 1 .* SIGKILL"):
        parts.runner.run()
    parts.runner.close_env()


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_an_environment_that_cannot_be_made_is_reported_and_nothing_is_left_running(transport):
    with pytest.raises(EnvironmentWorkerError, match="unexpected keyword argument 'no_such'"):
        _parts(transport, no_such=1)
    assert multiprocessing.active_children() == []


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_what_cannot_be_sent_of_an_info_is_left_out(transport):
    running = TRANSPORTS[transport]([dict.fromkeys((False, True), TalkativeEnv)], 1, True)
    running.reset()
    assert running.step({"actions": np.zeros((1, 2), dtype=np.int64)}).terminated.tolist() == [True]
    assert running.info(0) == {"won": 1, "nested": {}}
    running.close()


@pytest.mark.parametrize("transport", TRANSPORTS)
@pytest.mark.parametrize("what", ["obs", "state", "avail_actions"])
def test_a_shape_that_was_not_announced_is_reported(transport, what):
    running = TRANSPORTS[transport]([dict.fromkeys((False, True), partial(MisshapenEnv, what))], 1, True)
    with pytest.raises(EnvironmentWorkerError, match=rf"get_{what}\(\) has the shape \(7,\)"):
        running.reset()
    running.close()


def test_ctrl_c_while_a_worker_is_still_starting_does_not_reach_it(monkeypatch, spawned):
    """It would print a traceback from the midst of its imports."""
    start = WorkerProcess.__init__

    def interrupted(self, *args):
        start(self, *args)
        os.kill(self.process.pid, signal.SIGINT)

    monkeypatch.setattr(WorkerProcess, "__init__", interrupted)
    parts = _parts("shared_memory")
    parts.runner.run()
    parts.runner.close_env()


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_workers_that_ignore_close_are_ended(monkeypatch, transport):
    monkeypatch.setattr("vector_envs.process.CLOSE_TIMEOUT", 0.5)
    running = TRANSPORTS[transport]([dict.fromkeys((False, True), StubbornEnv)] * 2, 1, True)
    running.reset()
    processes = [worker.process for worker in running.workers]
    start = time.time()
    running.close()
    assert time.time() - start < 40
    assert not any(process.alive for process in processes)


WORDS = (
    "--config=vdn_beta --env-config=two_step with batch_size_run=2 t_max=100000000 on_worker_fault=stop seed=1".split()
)


@pytest.fixture
def training(tmp_path):
    """A command that trains until it is stopped."""
    command = Command(*WORDS, "log_interval=100", cwd=tmp_path, own_children=True).wait_for("Recent Stats")
    yield command
    if command.is_running():
        command.kill()


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


def _workers(pid):
    return [child for child in _children(pid) if "spawn_main" in " ".join(_command(child))]


def _wait_until(condition, seconds=120):
    deadline = time.time() + seconds
    while not condition():
        assert time.time() < deadline
        time.sleep(0.05)


def _gone(processes):
    return all(not p.is_running() or p.status() == psutil.STATUS_ZOMBIE for p in processes)


def test_ctrl_c_closes_every_child(tmp_path):
    """A terminal sends it to the whole group."""
    command = [sys.executable, str(ROOT / "src" / "main.py"), *WORDS]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    process = subprocess.Popen(command, cwd=tmp_path, start_new_session=True, preexec_fn=hear_ctrl_c, **pipes)
    try:
        _wait_until(lambda: len(_workers(process.pid)) == 2)
        if not any("t_env" in line for line in process.stdout):
            raise AssertionError(f"training did not start: {process.stderr.read()}")
        children = _children(process.pid)
        os.killpg(process.pid, signal.SIGINT)
        _, errors = process.communicate(timeout=120)
    finally:
        process.kill()
    assert process.returncode == 130
    assert "Interrupted by SIGINT" in errors
    assert "Traceback" not in errors
    assert "resource_tracker" not in errors
    _wait_until(lambda: _gone(children))


def test_a_killed_worker_ends_the_command_with_a_message(training, tmp_path):
    _workers(training.pid)[0].kill()
    done = training.end()
    assert done.returncode == 1
    assert "stopped: Environment" in done.stderr
    assert "SIGKILL" in done.stderr
    assert "Traceback" not in done.stderr
    assert '"status": "FAILED"' in (tmp_path / "results" / "sacred" / "1" / "run.json").read_text()


def test_a_process_that_cannot_be_started_is_reported(monkeypatch):
    """As with `ulimit -n` or `ulimit -u`."""
    pair = TRANSPORTS["pipe"]._connect

    def refused(self, indices):
        if indices == [1]:
            raise OSError(errno.EMFILE, "Too many open files")
        return pair(self, indices)

    monkeypatch.setattr(TRANSPORTS["pipe"], "_connect", refused)
    with pytest.raises(
        MusterError, match=r"environment 1 cannot be started, after 1 others: Too many open files\. Choose"
    ):
        _parts("pipe")
    assert multiprocessing.active_children() == []
