"""Runs whose updates several processes share: they equal one process's, end with a process that dies, and resume."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from checks import check_config
from checks.processes import processes_of
from forked import Command, run_command
from processes import all_end
from run import run
from small_training import small_config
from team_runs import config_of
from utils.config.merging import default_config
from utils.config.renamed_keys import with_new_names
from utils.errors import ConfigError

ROOT = Path(__file__).resolve().parents[2]
SETTINGS = ["--env-config=two_step", "with", "batch_size=5", "buffer_size=16", "seed=7", "test_nepisode=2"]
SETTINGS += ["test_interval=100", "learner_log_interval=20", "rnn_hidden_dim=8", "checkpoint_interval=100"]
RUN = ["--config=qmix", *SETTINGS]
# a learner that makes its steps without the others' gradients, and one that knows nothing of Muster's
OWN_LEARNERS = """
from learners import REGISTRY
from learners.q_learner import QLearner

class Steps(QLearner):
    def _step(self, optimiser, loss, grad_norm_clip=None):
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        return 0.0

class Plain:
    def __init__(self, mac, scheme, logger, args):
        pass

    def train(self, batch, t_env, episode_num):
        pass

    def cuda(self):
        pass

    def save_models(self, path):
        pass

REGISTRY["own_steps"], REGISTRY["plain"] = Steps, Plain
"""


def figures(results):
    """What the learner and tests logged: (key, step) -> value."""
    (log,) = results.glob("runs/*/metrics.csv")
    rows = [line.split(",") for line in log.read_text().splitlines()[1:]]
    return {(key, int(t_env)): float(value) for t_env, _, _, key, value in rows if not key.startswith("time")}


def trained(folder, *words):
    """The figures of a short run."""
    folder.mkdir()
    done = run_command(*words, cwd=folder)
    assert done.returncode == 0, done.stderr
    return figures(folder / "results")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("preset", "statistic", "changes"),
    [
        # its updates draw random numbers, and a setting changes
        ("roma", "loss", ["lr=[[0, 0.001], [100, 0.0001]]"]),
        # it learns from policies as they act, with epsilon
        ("coma", "coma_loss", ["epsilon_anneal_time=100", "buffer_size=5", "batch_size_run=5"]),
    ],
)
def test_a_run_of_two_processes_equals_one(preset, statistic, changes, tmp_path):
    words = [f"--config={preset}", *SETTINGS, "t_max=120", *changes]
    alone = trained(tmp_path / "one", *words, "data_parallel=0")
    shared = trained(tmp_path / "two", *words, "data_parallel=2")
    assert shared == pytest.approx(alone, rel=1e-3, abs=1e-5)
    assert sum(key == statistic for key, _ in alone) > 3


@pytest.mark.slow
def test_teams_of_two_processes_equal_those_of_one(tmp_path):
    """PPO of continuous actions and VDN, each with settings and sizes of its own."""
    for count in (0, 2):
        run(config_of(tmp_path / str(count), "episodes", t_max=100, data_parallel=count, checkpoint_interval=50))
    alone, shared = (figures(tmp_path / str(count)) for count in (0, 2))
    assert shared == pytest.approx(alone, rel=1e-3, abs=1e-5)
    assert {"drones/pg_loss", "trucks/loss"} <= {key for key, _ in alone}


def others_of(pid):
    """The processes that compute for a run."""
    return [
        child.pid for child in psutil.Process(pid).children(recursive=True) if "spawn_main" in " ".join(child.cmdline())
    ]


def begun(folder):
    return Command(*RUN, "t_max=1000000", "data_parallel=2", cwd=folder, own_children=True).wait_for("Test after 10")


@pytest.mark.slow
def test_a_killed_process_ends_the_run_by_its_name_and_it_resumes_with_more(tmp_path):
    command = begun(tmp_path)
    (other,) = others_of(command.pid)
    os.kill(other, signal.SIGKILL)
    ended = command.end()
    text = ended.stdout + ended.stderr
    assert ended.returncode == 1
    assert "Process 1 of data_parallel=2 has ended: killed by SIGKILL." in text
    assert "is kept. Resume from the checkpoint of step" in text
    last = max(step for _, step in figures(tmp_path / "results"))
    resumed = run_command("--resume=latest", "with", f"t_max={last + 200}", "data_parallel=3", cwd=tmp_path)
    assert resumed.returncode == 0, resumed.stderr
    assert "3 processes share the updates" in resumed.stdout + resumed.stderr
    assert max(step for _, step in figures(tmp_path / "results")) > last + 100


@pytest.mark.slow
def test_no_process_outlives_the_run(tmp_path):
    command = begun(tmp_path)
    others = others_of(command.pid)
    command.kill()
    assert others and all_end(others, 20)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("learner", "code", "said"),
    [
        ("own_steps", 1, "the weights of process 1 are no longer those of the first one"),
        ("plain", 0, "data_parallel has no effect: learner=plain is no learners.base.BaseLearner"),
    ],
)
def test_learners_that_cannot_share_their_updates(learner, code, said, tmp_path):
    (tmp_path / "own.py").write_text(OWN_LEARNERS)
    words = [*RUN, "plugins=own.py", f"learner={learner}", "t_max=60", "data_parallel=2"]
    done = run_command(*words, cwd=tmp_path)
    assert said in done.stdout + done.stderr
    assert done.returncode == code


@pytest.mark.slow
def test_processes_that_torchrun_has_launched(tmp_path):
    """They are one run, and leave one record."""
    launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    words = [*launcher, str(ROOT / "src" / "main.py"), *RUN, "t_max=60", "data_parallel=auto"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stderr
    assert "2 processes share the updates" in done.stdout + done.stderr
    assert [path.name for path in (tmp_path / "results" / "sacred").iterdir() if path.name.isdigit()] == ["1"]
    assert len(list((tmp_path / "results" / "runs").iterdir())) == 1


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"data_parallel": "many"}, "data_parallel=many: no such choice. Allowed: a number of processes"),
        ({"data_parallel": -1}, "data_parallel=-1: no such choice"),
        ({"data_parallel": 5000}, "up to 1024"),
        ({"data_parallel": 2, "collection": "async"}, "data_parallel=2 does not go with collection=async"),
    ],
)
def test_what_is_refused(changes, said, tmp_path):
    with pytest.raises(ConfigError) as error:
        check_config(small_config(tmp_path, **changes))
    assert said in str(error.value)


def test_how_many_processes(monkeypatch):
    config = {**default_config(), "use_cuda": False}
    for value, count in (("0", 1), ("1", 1), ("3", 3), ("auto", 1)):
        assert processes_of({**config, "data_parallel": value}) == count
    monkeypatch.setattr("checks.processes.cards", lambda: 2)
    on_cards = {**config, "learner_device": "cuda"}
    assert processes_of({**on_cards, "data_parallel": "auto"}) == 2
    with pytest.raises(ConfigError, match="data_parallel=3: this machine has 2 GPUs"):
        processes_of({**on_cards, "data_parallel": "3"})
    monkeypatch.setattr("checks.processes.launched_ranks", lambda: (0, 4))
    assert processes_of({**on_cards, "data_parallel": "auto"}) == 4
    with pytest.raises(ConfigError, match="4 processes were launched together"):
        processes_of({**on_cards, "data_parallel": "3"})


def test_the_former_values():
    assert [with_new_names({"data_parallel": value})["data_parallel"] for value in (True, False)] == ["auto", "0"]
