"""Runs with collectors as a user starts them: exact resumption, and no process that is left behind."""

import os
import re
import signal
from pathlib import Path

import pytest
from killed_runs import resumes_exactly

from cli.compose import compose_config
from forked import Command, start_forked
from processes import all_end, descendants
from run import run
from small_training import suited
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


def test_turns_resume_exactly(tmp_path):
    own = {"processes": 2, "deterministic": True, "runner": "rollout"}
    resumes_exactly(tmp_path, config_of("sac_discrete", collectors=own), "turns", interval=40)


@pytest.mark.parametrize(("algorithm", "runner"), [("qmix", "episode"), ("masac", "rollout"), ("iqn", "parallel")])
def test_off_policy_learners_learn_from_collectors(tmp_path, monkeypatch, algorithm, runner):
    changes = {"batch_size_run": 1 if runner == "episode" else 2, "local_results_path": str(tmp_path)}
    config = config_of(algorithm, collectors={"runner": runner}, buffer_size=64, **changes)
    updates = watch_updates(monkeypatch, config["learner"])
    run(config)
    assert_learnt(updates, 3)


def test_a_killed_learner_leaves_no_process_behind(tmp_path):
    """Environments in workers are the collectors' children."""
    words = [*WORDS, "batch_size_run=2", "collectors.runner=parallel"]
    command = Command(*words, cwd=tmp_path, own_children=True).wait_for("Test after 1")
    pids = descendants(command.pid)
    assert len(pids) >= 4
    command.kill()
    assert all_end(pids, 60)


def test_a_killed_collector_is_replaced(tmp_path):
    """Its processes, and the one in place of the killed, fork from the tests' server."""
    start_forked(os.getpid).join()  # the server has started
    others = descendants(os.getpid())
    command = Command(*WORDS, "log_interval=100", cwd=tmp_path).wait_for("Test after 1")
    pids = set(descendants(os.getpid())) - {*others, command.pid}
    collectors = sorted(pid for pid in pids if "forkserver" in _command(pid))
    assert len(collectors) == 2
    os.kill(collectors[0], signal.SIGKILL)
    command.wait_for("collector_restarts:          1.0000")
    pids |= set(descendants(os.getpid())) - {*others, command.pid}
    assert len([pid for pid in pids if pid not in collectors and "forkserver" in _command(pid)]) == 1
    os.kill(command.pid, signal.SIGINT)
    done = command.end()
    assert re.search("died in (a rollout|its wait): killed by SIGKILL", done.stdout + done.stderr)
    assert done.returncode == 130
    assert all_end(pids, 20)


def _command(pid):
    try:
        return Path(f"/proc/{pid}/cmdline").read_text()
    except OSError:
        return ""
