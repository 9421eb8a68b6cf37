"""Signals, and resuming by `--resume`, as a user types it."""

import json
import os
import re
import shlex
import signal
import time

import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from forked import Command, run_command
from own_parts import own_game

pytestmark = pytest.mark.slow

RUN = ["--config=vdn", "--env-config=two_step", "with", "batch_size=4", "buffer_size=16", "seed=7", "test_interval=30"]
ENDLESS = ["t_max=100000000", "log_interval=100", "runner_log_interval=20", "learner_log_interval=20"]


def begin(*words, cwd, ready="Test after 3"):
    """Start a run and wait until it has printed `ready`."""
    return Command(*words, cwd=cwd).wait_for(ready)


def load(path):
    return json.loads(path.read_text())


def figures(results):
    """The metric log: key -> steps."""
    (log,) = results.glob("runs/*/metrics.csv")
    steps = {}
    for line in log.read_text().splitlines()[1:]:
        t_env, _, _, key, _ = line.split(",")
        steps.setdefault(key, []).append(int(t_env))
    return steps


@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT"])
def test_an_interrupted_run_resumes(tmp_path, name):
    process = begin(*RUN, *ENDLESS, "use_tensorboard=True", cwd=tmp_path)
    process.send_signal(getattr(signal, name))
    done = process.end()
    err = done.stderr
    assert done.returncode == 128 + getattr(signal, name)
    assert f"{name}: finishing the step, then saving. Once more ends at once." in err
    assert "Traceback" not in err
    told = re.search(
        rf"Interrupted by {name}\. Everything up to step (\d+) is kept\. "
        r"Resume from the checkpoint of step (\d+) with: python src/main\.py (--resume=\S+)",
        err,
    )
    stopped = int(told[1])
    assert told[1] == told[2]
    results = tmp_path / "results"
    assert load(results / "sacred" / "1" / "run.json")["status"] == "INTERRUPTED"

    done = run_command(told[3], "with", f"t_max={stopped + 60}", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "Finished Training" in done.stdout
    info = load(results / "sacred" / "2" / "info.json")
    assert load(results / "sacred" / "2" / "run.json")["status"] == "COMPLETED"
    assert info["resumed_from"] == {"sacred_id": "1", "t_env": stopped}
    assert info["unique_token"] == load(results / "sacred" / "1" / "info.json")["unique_token"]
    # one curve: from the first step on, no step twice, none left out
    steps = figures(results)
    assert steps["test_return_mean"] == info["test_return_mean_T"] == sorted(set(steps["test_return_mean"]))
    assert steps["test_return_mean"][0] == 2
    assert steps["test_return_mean"][-1] > stopped
    assert {b - a for a, b in zip(steps["loss"], steps["loss"][1:], strict=False)} == {20}
    (folder,) = (results / "tb_logs").iterdir()
    events = EventAccumulator(str(folder), size_guidance={"scalars": 0})
    events.Reload()
    assert [event.step for event in events.Scalars("loss")] == steps["loss"]


STUCK = """
def step(self, actions):
    print("stuck now", flush=True)
    time.sleep(1000)
"""


def test_a_second_signal_ends_at_once(tmp_path):
    process = begin(*RUN, *own_game(tmp_path, STUCK), cwd=tmp_path, ready="stuck now")
    process.send_signal(signal.SIGTERM)
    process.wait_for("SIGTERM: finishing the step")
    # a batch system and who watches the run may both send it: together they are one
    process.send_signal(signal.SIGTERM)
    time.sleep(1.1)
    assert process.is_running()
    process.send_signal(signal.SIGTERM)
    done = process.end()
    assert done.returncode == 143
    assert "SIGTERM once more: ending at once." in done.stderr


def test_settings_that_may_change_and_settings_that_may_not(tmp_path):
    process = begin(*RUN, *ENDLESS, cwd=tmp_path)
    process.send_signal(signal.SIGTERM)
    process.end()
    before = sorted(str(path) for path in tmp_path.rglob("*"))
    for change, told in {
        "rnn_hidden_dim=32": ["rnn_hidden_dim=32", "(64)", "shapes of its networks"],
        "env_args.x=1": ["env_args.x", "the environment 'two_step' has no such argument"],
        "tmax=10": ["tmax", "Did you mean 't_max'?"],
        "local_results_path=elsewhere": ["elsewhere has no run that trained"],
    }.items():
        done = run_command("--resume=latest", "with", change, cwd=tmp_path)
        assert done.returncode == 2, change
        assert all(part in done.stderr for part in told), done.stderr
        assert "Traceback" not in done.stderr
    assert sorted(str(path) for path in tmp_path.rglob("*")) == before
    done = run_command("--resume=1", "with", "t_max=300", "log_interval=50", "label=later", cwd=tmp_path)
    assert done.returncode == 0, done.stderr


def test_the_checkpoint_before_a_damaged_one(tmp_path):
    process = begin(*RUN, *ENDLESS, "checkpoint_interval=10", cwd=tmp_path, ready="Test after 6")
    process.send_signal(signal.SIGTERM)
    process.end()
    newest = max(tmp_path.glob("results/runs/*/checkpoints/*"), key=lambda path: int(path.name))
    state = newest / "state.th"
    state.write_bytes(state.read_bytes()[:-10])
    done = run_command("--resume=latest", "with", f"t_max={newest.name}", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert f"Not used: {state.relative_to(tmp_path)} has" in done.stdout
    assert "it is truncated" in done.stdout
    assert f"Resuming from {newest.parent.relative_to(tmp_path)}" in done.stdout


def test_a_run_continues_in_one_process_only(tmp_path):
    process = begin(*RUN, *ENDLESS, "checkpoint_interval=10", cwd=tmp_path, ready="Test after 6")
    try:
        done = run_command("--resume=1", cwd=tmp_path)
        assert done.returncode == 1
        assert f"is still in use by the process {process.pid}" in done.stderr
    finally:
        process.kill()


def test_an_unobserved_run_can_be_resumed(tmp_path):
    process = begin(*RUN[:2], "-u", *RUN[2:], *ENDLESS, cwd=tmp_path)
    process.send_signal(signal.SIGTERM)
    done = process.end()
    assert done.returncode == 143
    assert os.listdir(tmp_path / "results") == ["runs"]
    (command,) = re.findall(r"--resume=\S+", done.stderr)
    step = int(re.search(r"checkpoint of step (\d+)", done.stderr)[1])
    done = run_command(command, "-u", "with", f"t_max={step + 60}", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    steps = figures(tmp_path / "results")["loss"]
    assert steps == sorted(set(steps))
    assert steps[0] == 8


def test_a_finished_run_can_be_made_longer(tmp_path):
    """And is then what it would have been at once, but for the test at the end of the first part."""
    curves = []
    for t_max in (60, 120):
        where = f"local_results_path={t_max}"
        words = [*RUN, f"t_max={t_max}", "test_interval=40", where]
        done = run_command(*words, "learner_log_interval=1", cwd=tmp_path)
        assert done.returncode == 0, done.stderr
    done = run_command("--resume=1", "with", "local_results_path=60", "t_max=120", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    for name in ("60", "120"):
        (log,) = (tmp_path / name).glob("runs/*/metrics.csv")
        rows = [line.split(",") for line in log.read_text().splitlines()[1:]]
        curves.append([(t_env, key, value) for t_env, _, _, key, value in rows if not key.startswith("episode")])
    assert curves[0] == curves[1]


FRAIL = """
steps = 0
def step(self, actions):
    self.steps += 1
    if self.steps == 60 and not os.path.exists("broke"):
        open("broke", "w").close()
        raise RuntimeError("the simulator lost its map")
    return super().step(actions)
"""


@pytest.mark.parametrize("runner", ["runner=episode", "runner=parallel"])
def test_a_fault_that_ends_a_run_leaves_a_checkpoint(tmp_path, runner):
    settings = [*own_game(tmp_path, FRAIL), "on_worker_fault=stop", "t_max=100", runner]
    done = run_command(*RUN, *settings, cwd=tmp_path)
    assert done.returncode == 1
    assert "the simulator lost its map" in done.stderr
    told = done.stdout + done.stderr
    (step,) = set(re.findall(r"Everything up to step (\d+) is kept", told))
    assert 50 <= int(step) <= 60
    assert load(tmp_path / "results" / "sacred" / "1" / "run.json")["status"] == "FAILED"
    (command,) = set(re.findall(r"python src/main.py (--resume=.*)", told))
    assert "plugins" not in command  # the results are the user's own
    (tmp_path / "elsewhere").mkdir()
    done = run_command(*shlex.split(command.replace("results", "../results")), cwd=tmp_path / "elsewhere")
    assert done.returncode == 0, done.stderr
    assert figures(tmp_path / "results")["test_return_mean"][-1] == 102


def test_a_run_that_cannot_be_saved_warns_and_continues(tmp_path):
    unsavable = own_game(tmp_path, "def state_dict(self):\n    return {'socket': object()}")
    done = run_command(*RUN, *unsavable, "t_max=60", "checkpoint_interval=20", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("No checkpoint can be written of this run: state") == 1
    assert "['socket'] is a object, which cannot be saved. The run continues without one." in done.stdout
    assert not list(tmp_path.glob("results/runs/*/checkpoints/[0-9]*"))
