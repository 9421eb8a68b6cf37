"""Runs without an executable: one simulator that somebody else starts, such as Unity's editor, trains and is tested."""

import csv
import itertools
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import dots_editor
from checks import check_config
from checks.environments import check_sole
from cli.compose import compose_config
from envs.dots.connecting import Wanted, connect
from envs.dots.places import Place
from forked import Command, run_command
from utils.errors import ConfigError, MusterError

SIMULATORS = Path(__file__).resolve().parents[2] / "simulators"
WORDS = (
    "--config=ppo --env-config=dots with batch_size_run=1 rollout_steps=16 t_max=200 test_interval=60 test_nepisode=2"
)
WORDS = [*WORDS.split(), "env_args.time_limit=10", "minibatches=1", "seed=1", "runner_log_interval=20"]


@pytest.fixture
def editor(tmp_path):
    """Starts the stand-in, which Play is pressed in after so many seconds; returns its process."""
    started = []

    def start(seconds, *turns):
        command = [sys.executable, dots_editor.__file__, str(tmp_path / "default"), str(seconds), *map(str, turns)]
        paths = os.pathsep.join(sys.path)
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": paths})
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.wait()
        process.stdout.close()


def words(tmp_path, *more):
    return [*WORDS, f"env_args.folder={tmp_path}", "env_args.launch_timeout=20", *more]


def logged(tmp_path, key):
    """(t_env, value) of a statistic."""
    found = []
    for file in sorted(tmp_path.rglob("metrics.csv")):
        with file.open() as lines:
            found += [(int(row["t_env"]), float(row["value"])) for row in csv.DictReader(lines) if row["key"] == key]
    return found


def left(tmp_path):
    return [path.name for path in tmp_path.glob("default*")]


@pytest.mark.slow
@pytest.mark.parametrize(
    "changes",
    [["vector_env=workers"], ["vector_env=workers", 'env_args.protocol="0"', "env_args.wake=False"]],
    ids=["0.3.2", "0"],
)
def test_a_run_trains_and_tests_in_an_editor_that_is_stopped_and_plays_again(tmp_path, editor, changes):
    playing = editor(1, 90, 0)
    done = Command(*words(tmp_path, *changes), cwd=tmp_path, own_children=True).end()
    said = done.stdout + done.stderr
    assert done.returncode == 0, said
    # once at the start, and once after the stop
    assert said.count("press Play") == 2 and said.count("The simulator has closed") == 1
    assert "restart 1 of max_worker_restarts=10" in said
    assert playing.wait(10) == 0 and left(tmp_path) == []
    tests, lengths = logged(tmp_path, "test_return_mean"), logged(tmp_path, "ep_length_mean")
    # t_env counts steps of training only: tests come by it, and the last rollout ends the run
    assert len(tests) == 4 and all(60 <= b - a < 80 for (a, _), (b, _) in itertools.pairwise(tests[:-1]))
    assert 200 < tests[-1][0] <= 216
    assert {value for _, value in [*lengths, *logged(tmp_path, "test_ep_length_mean")]} == {10.0}


@pytest.mark.slow
@pytest.mark.parametrize("source", ["in_process", "workers"])
def test_a_run_that_stopped_resumes_in_an_editor(tmp_path, editor, source):
    playing = editor(0, 0, 0)
    run = Command(*words(tmp_path, f"vector_env={source}", "t_max=100000"), cwd=tmp_path)
    run.wait_for("Test after 1").wait_for("Test after 8").send_signal(signal.SIGTERM)
    said = run.end().stdout
    (folder,) = (tmp_path / "results" / "runs").iterdir()
    limit = logged(tmp_path, "test_return_mean")[-1][0] + 100
    resumed = run_command(f"--resume={folder}", "with", f"t_max={limit}", cwd=tmp_path)
    assert resumed.returncode == 0, said + resumed.stdout + resumed.stderr
    assert playing.wait(10) == 0 and left(tmp_path) == []
    assert logged(tmp_path, "test_return_mean")[-1][0] > limit


@pytest.mark.slow
@pytest.mark.parametrize(
    ("source", "signum"), [("in_process", signal.SIGINT), ("in_process", signal.SIGKILL), ("workers", signal.SIGTERM)]
)
def test_a_run_that_is_stopped_while_it_waits_leaves_no_file(tmp_path, source, signum):
    run = Command(*words(tmp_path, f"vector_env={source}"), cwd=tmp_path, own_children=True).wait_for("press Play")
    assert "default" in left(tmp_path)
    run.send_signal(signum)
    assert run.end().returncode == (-signum if signum == signal.SIGKILL else 128 + signum)
    deadline = time.monotonic() + 20
    while left(tmp_path):  # a reaper sees to it
        assert time.monotonic() < deadline, left(tmp_path)
        time.sleep(0.02)


@pytest.mark.parametrize("protocol", ["0", "0.3.2"])
def test_nobody_attached_is_no_simulator_that_hangs(tmp_path, protocol, capfd):
    with pytest.raises(
        MusterError, match=r"Nobody has attached to .*default within 0\.1 seconds .*\. Press Play in"
    ) as found:
        session = connect(Wanted(protocol=protocol, folder=str(tmp_path), launch_timeout=0.1))
        try:
            session.give(reset=True)
            session.take("answering a reset")
        finally:
            session.close()
    assert f"protocol {protocol} " in str(found.value) and "env_args.executable=PATH" in str(found.value)
    assert left(tmp_path) == []


@pytest.mark.slow
def test_files_that_a_dead_trainer_has_left_are_replaced_and_no_simulator_waits_on_them(tmp_path):
    code = """
import os, sys
from pathlib import Path
from envs.dots.connecting import Wanted, _session
from envs.dots.places import Place
_session("0.3.2", Place(Path(sys.argv[1]), "default"), Wanted())
os._exit(0)
"""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], env=environment, check=True)
    assert {"default", "default_", "default.lock"} <= set(left(tmp_path))
    late = [[sys.executable, str(SIMULATORS / "basic.py")]]
    if compiler := shutil.which("cc") or shutil.which("gcc") or shutil.which("clang"):
        subprocess.run([compiler, "-o", tmp_path / "basic", SIMULATORS / "c" / "basic.c"], check=True)
        late.append([str(tmp_path / "basic")])
    for program in late:
        words = [*program, "--memory-path", str(tmp_path / "default")]
        ran = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=60)
        assert ran.returncode != 0 and re.search("the one that made .* has ended", ran.stderr), ran.stderr
    Place(tmp_path, "default").free()
    assert left(tmp_path) == []


def test_one_editor_is_one_environment():
    config = compose_config("ppo", "dots").config
    with pytest.raises(
        ConfigError, match=r"batch_size_run=32 .* one editor or simulator attaches\. Use batch_size_run=1"
    ):
        check_config(config)
    config["batch_size_run"] = 1
    assert config["separate_test_env"] and not check_config(config)["separate_test_env"]
    with pytest.raises(ConfigError, match="collection=collectors gives each process environments of its own"):
        check_sole(config | {"collection": "collectors"}, "one simulator attaches")
    config["env_args"]["executable"] = dots_editor.__file__
    assert check_config({**config, "batch_size_run": 32})["separate_test_env"]


def test_waiting_for_play_is_shorter_than_what_counts_as_a_hung_process():
    config = compose_config("ppo", "dots").config | {"batch_size_run": 1}
    config["env_args"]["launch_timeout"] = 400.0
    with pytest.raises(ConfigError, match=r"worker_timeout=300 must be longer than env_args\.launch_timeout=400"):
        check_config(config)
    check_config(config | {"worker_timeout": 0})  # never
    check_config(config | {"vector_env": "in_process"})
