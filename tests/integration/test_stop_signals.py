"""A signal at any moment of a run, from its first import to its exit: what is recorded, and no traceback."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from forked import run_command, start_forked
from helpers import hear_ctrl_c
from own_parts import own_game

pytestmark = pytest.mark.slow

MAIN = Path(__file__).resolve().parents[2] / "src" / "main.py"
WORDS = "--config=vdn --env-config=two_step with t_max=40 batch_size=4 buffer_size=8 seed=1 test_nepisode=2".split()
# runs main.py and sends itself a signal when it imports or opens something for the n-th time, or at the very end
DRIVER = """
import atexit, os, runpy, signal, sys, threading
event, name, count, signum, main = sys.argv[1:6]
left = int(count)
def send(happened, arguments):
    global left
    if happened == event and name in str(arguments[0]) and threading.current_thread() is threading.main_thread():
        left -= 1
        if left == 0:
            os.write(2, b"the moment has come\\n")
            os.kill(os.getpid(), int(signum))
if event == "exit":
    atexit.register(os.kill, os.getpid(), int(signum))
else:
    sys.addaudithook(send)
sys.argv[:] = sys.argv[5:]
sys.path.insert(0, os.path.dirname(main))
runpy.run_path(main, run_name="__main__")
"""


def _driven_here(words, folder, printed):
    """As by a new interpreter, but for its imports."""
    os.chdir(folder)
    for number in (1, 2):
        os.dup2(os.open(printed, os.O_WRONLY | os.O_CREAT | os.O_APPEND), number)
    sys.argv = ["-c", *words]
    exec(DRIVER, {})


@pytest.mark.parametrize(
    ("event", "name", "count", "signum", "recorded"),
    [
        pytest.param("import", "sacred", 1, signal.SIGINT, None, id="before Sacred"),
        pytest.param("open", ".run.json", 1, signal.SIGTERM, "INTERRUPTED", id="as Sacred starts"),
        pytest.param("import", "torch", 1, signal.SIGTERM, "INTERRUPTED", id="importing torch"),
        pytest.param("import", "learners.base", 1, signal.SIGINT, "INTERRUPTED", id="assembling"),
        pytest.param("open", ".run.json", 2, signal.SIGTERM, "COMPLETED", id="as Sacred ends"),
        pytest.param("exit", "", 1, signal.SIGINT, "COMPLETED", id="as Python ends"),
    ],
)
def test_a_signal_at_any_moment_is_recorded(tmp_path, event, name, count, signum, recorded):
    words, printed = [event, name, str(count), str(int(signum)), str(MAIN), *WORDS], tmp_path / "printed"
    if event == "open":  # moments that are neither an import nor the end of the interpreter
        process = start_forked(_driven_here, words, tmp_path, printed)
        process.join(120)
        code = process.exitcode
    else:
        command = [sys.executable, "-c", DRIVER, *words]
        with open(printed, "w") as file:
            code = subprocess.run(
                command, cwd=tmp_path, stdout=file, stderr=file, timeout=120, preexec_fn=hear_ctrl_c
            ).returncode
    assert "Traceback" not in printed.read_text()
    assert event == "exit" or "the moment has come" in printed.read_text()
    assert code == (0 if recorded == "COMPLETED" else 128 + signum), printed.read_text()
    records = [json.loads(path.read_text()) for path in tmp_path.glob("results/sacred/*/run.json")]
    assert [record["status"] for record in records] == ([recorded] if recorded else [])
    if recorded == "COMPLETED":
        assert records[0]["result"] is not None


IMPATIENT = """
def __init__(self, **env_args):
    super().__init__(**env_args)
    try:
        os.kill(os.getpid(), signal.SIGTERM)
    except BaseException:
        pass  # as careless code does
"""


def test_a_signal_whose_exception_is_swallowed_still_stops_the_run(tmp_path):
    done = run_command(*WORDS, *own_game(tmp_path, IMPATIENT), cwd=tmp_path)
    assert done.returncode == 143, done.stderr
    assert "Interrupted by SIGTERM before training started" in done.stderr
    record = json.loads((tmp_path / "results" / "sacred" / "1" / "run.json").read_text())
    assert record["status"] == "INTERRUPTED"
