"""Runs with collectors as a user starts them: exact resumption, and no process that is left behind."""

import os
import re
import signal
import time
from pathlib import Path

import pytest
import torch as th
from killed_runs import finished, metric_log, start

from cli.compose import compose_config
from forked import Command, start_forked
from run import run
from small_training import suited
from trees import differences
from watched_training import assert_learnt, watch_updates

pytestmark = [pytest.mark.slow, pytest.mark.skipif(os.name != "posix", reason="locks of files")]
WORDS = ["--config=iqn", "--env-config=two_step", "with", "runner=collectors", "seed=7", "t_max=100000000"]
WORDS += ["test_interval=100", "test_nepisode=2"]
SMALL = {
    "batch_size": 4,
    "seed": 5,
    "test_nepisode": 2,
    "test_interval": 80,
    "log_interval": 30,
    "runner_log_interval": 10,
    "learner_log_interval": 1,
    "rnn_hidden_dim": 8,
    "rollout_steps": 8,
    "batch_size_run": 2,
    "epsilon_anneal_time": 300,
}


def config_of(algorithm, **changes):
    config = compose_config(algorithm, "matrix").config
    config["env_args"] = {"game": "climbing", "episode_limit": 4}
    return suited(config, {**SMALL, "runner": "collectors", "t_max": 200, **changes})


@pytest.mark.parametrize(("algorithm", "runner"), [("sac_discrete", "rollout")])
def test_turns_resume_exactly(tmp_path, algorithm, runner):
    own = {"processes": 2, "deterministic": True, "runner": runner}
    config = config_of(algorithm, collectors=own)
    undisturbed = {"local_results_path": str(tmp_path / "a" / "results"), "checkpoint_interval": 10**9}
    straight = finished({**config, **undisturbed}, tmp_path / "a")
    folder = tmp_path / "b"
    folder.mkdir()
    config |= {"local_results_path": str(folder / "results"), "checkpoint_interval": 40}
    process = start(config, folder, resumed=False)
    while not any(folder.glob("results/runs/*/checkpoints/[0-9]*/manifest.json")):
        assert process.is_alive()
        time.sleep(0.002)
    process.kill()
    process.join()
    assert not (folder / "outcome").exists()
    start(config, folder, resumed=True).join(120)
    resumed = th.load(folder / "outcome")
    assert straight["t_env"] >= config["t_max"]
    assert differences(straight, resumed) == []
    assert metric_log(folder) == metric_log(tmp_path / "a")


@pytest.mark.parametrize(("algorithm", "runner"), [("qmix", "episode"), ("masac", "rollout"), ("iqn", "parallel")])
def test_off_policy_learners_learn_from_collectors(tmp_path, monkeypatch, algorithm, runner):
    changes = {"batch_size_run": 1 if runner == "episode" else 2, "local_results_path": str(tmp_path)}
    config = config_of(algorithm, collectors={"runner": runner}, buffer_size=64, **changes)
    updates = watch_updates(monkeypatch, config["learner"])
    run(config)
    assert_learnt(updates, 3)


def processes_of(parent):
    """The processes that a process has started, and those that these have, by name."""
    found, parents = [], {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            pid, rest = int(stat.parent.name), stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        parents.setdefault(int(rest[1]), []).append(pid)
    waiting = [parent]
    while waiting:
        waiting += (own := parents.get(waiting.pop(), []))
        found += own
    return found


def require_gone(pids, seconds=20.0):
    deadline = time.monotonic() + seconds
    while pids := [pid for pid in pids if _lives(pid)]:
        assert time.monotonic() < deadline, pids
        time.sleep(0.1)


def _lives(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_a_killed_learner_leaves_no_process_behind(tmp_path):
    """Environments in workers are the collectors' children."""
    words = [*WORDS, "batch_size_run=2", "collectors.runner=parallel"]
    command = Command(*words, cwd=tmp_path, own_children=True).wait_for("Test after 1")
    pids = processes_of(command.pid)
    assert len(pids) >= 4
    command.kill()
    require_gone(pids, 60)


def test_a_killed_collector_is_replaced(tmp_path):
    """Its processes, and the one in the place of the killed, fork from the tests' server."""
    start_forked(os.getpid).join()  # the server has started
    others = processes_of(os.getpid())
    command = Command(*WORDS, "log_interval=100", cwd=tmp_path).wait_for("Test after 1")
    pids = set(processes_of(os.getpid())) - {*others, command.pid}
    collectors = sorted(pid for pid in pids if "forkserver" in _command(pid))
    assert len(collectors) == 2
    os.kill(collectors[0], signal.SIGKILL)
    command.wait_for("collector_restarts:          1.0000")
    pids |= set(processes_of(os.getpid())) - {*others, command.pid}
    assert len([pid for pid in pids if pid not in collectors and "forkserver" in _command(pid)]) == 1
    os.kill(command.pid, signal.SIGINT)
    done = command.end()
    assert re.search("died in (a rollout|its wait): killed by SIGKILL", done.stdout + done.stderr)
    assert done.returncode == 130
    require_gone(pids)


def _command(pid):
    try:
        return Path(f"/proc/{pid}/cmdline").read_text()
    except OSError:
        return ""
