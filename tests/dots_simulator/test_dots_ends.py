"""Simulators end with their trainers, and leave no files."""

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from test_dots_c import needs_compiler, program  # noqa: F401

from dots_trainers import Trainer, Trainer0
from processes import all_end

pytestmark = pytest.mark.slow

SIMULATORS = Path(__file__).resolve().parents[2] / "simulators"
BASIC = [sys.executable, str(SIMULATORS / "basic.py")]
# starts a simulator, plays some turns, says so, and waits to be killed
TRAINER = """
import fcntl, subprocess, sys, time
sys.path.insert(0, sys.argv[1])
import dots_trainers
kind, folder, woken, locks, command = sys.argv[2], sys.argv[3], sys.argv[4] == "True", sys.argv[5], sys.argv[6:]
trainer = getattr(dots_trainers, kind)(folder, woken)
if locks == "locks":
    lock = open(f"{trainer.path}.lock", "w")
    fcntl.flock(lock, fcntl.LOCK_EX)
    # its parent lives on
    command = ["sh", "-c", 'trap "" TERM; "$@"; exit', "sh", *command]
process = subprocess.Popen([*command, "--memory-path", trainer.path], stderr=subprocess.DEVNULL)
if kind == "Trainer":
    trainer.attach()
    trainer.turn(reset=True)
else:
    trainer.turn(command=1)
print(process.pid, flush=True)
time.sleep(60)
"""


def ends_without_a_trace(kind, folder, woken, locks, command):
    support = str(Path(__file__).resolve().parents[1] / "support")
    arguments = [support, kind, str(folder), str(woken), locks, *map(str, command)]
    trainer = subprocess.Popen([sys.executable, "-c", TRAINER, *arguments], stdout=subprocess.PIPE, text=True)
    pid = int(trainer.stdout.readline())
    assert os.listdir(folder)
    trainer.send_signal(signal.SIGKILL)
    trainer.wait()
    trainer.stdout.close()
    assert all_end([pid], 5) and os.listdir(folder) == []


@pytest.mark.parametrize("kind", ["Trainer", "Trainer0"])
@pytest.mark.parametrize("locks", ["is the parent", "locks"])
def test_a_simulator_ends_when_its_trainer_is_killed(kind, wake, locks, tmp_path):
    ends_without_a_trace(kind, tmp_path, wake, locks, BASIC)


@needs_compiler
@pytest.mark.parametrize("kind", ["Trainer", "Trainer0"])
def test_a_simulator_in_c_ends_when_its_trainer_is_killed(kind, wake, program, tmp_path):  # noqa: F811
    ends_without_a_trace(kind, tmp_path, wake, "is the parent", program)


def test_a_simulator_that_fails_leaves_everything_to_its_trainer(trainer, played):
    def script(simulator):
        simulator.exchange()
        raise RuntimeError("a fault")

    game = played(trainer.path, script)
    trainer.attach()
    trainer.give(reset=True)
    with pytest.raises(RuntimeError, match="a fault"):
        game.end()
    assert not trainer.header()[15] and trainer.data_path().exists()


def test_a_simulator_that_ends_says_so(trainer, played):
    game = played(trainer.path, lambda simulator: simulator.exchange())
    trainer.attach()
    trainer.turn(reset=True)
    game.end()
    assert trainer.header()[15] == 1 and not trainer.data_path().exists()


def test_a_simulator_of_protocol_0_that_ends_says_so(trainer_0, played):
    game = played(trainer_0.path, lambda simulator: simulator.exchange())
    trainer_0.turn(command=1)
    game.end()
    assert trainer_0.read()[8:10] == bytes([0, 3])


@pytest.mark.parametrize("kind", [Trainer, Trainer0])
def test_a_simulator_without_an_argument_finds_the_trainer_that_waits_for_editors(kind, tmp_path):
    folder = tmp_path / "ml-agents"
    folder.mkdir()
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    nobody = subprocess.run(BASIC, env=environment, capture_output=True, text=True)
    assert nobody.returncode == 2 and f"without --memory-path is {folder}/default, which is missing" in nobody.stderr
    trainer = kind(folder, name="default")
    process = subprocess.Popen(BASIC, env=environment)
    if kind is Trainer:
        trainer.attach()
        trainer.turn(reset=True)
    else:
        trainer.turn(command=1)
    trainer.close()
    assert process.wait(10) == 0 and tempfile.gettempdir() != str(tmp_path)
