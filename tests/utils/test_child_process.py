"""Children that outlive signals, end with their parent, and take with them what they have started."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from processes import all_end
from utils.processes import child_process
from utils.processes.child_process import CONTEXT, ChildProcess

pytestmark = [pytest.mark.slow, pytest.mark.skipif(os.name != "posix", reason="signals and process groups")]
pytestmark.append(pytest.mark.usefixtures("spawned"))


def answer(pipe, word):
    pipe.send((word, os.getpid(), os.getpgid(0), os.getppid()))


def sleep_with_a_child(pipe):
    grandchild = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(1000)"])
    pipe.send(grandchild.pid)
    time.sleep(1000)


def leave(code):
    os._exit(code)


def _started(target, *args):
    ours, theirs = CONTEXT.Pipe()
    child = ChildProcess(target, (theirs, *args), "test")
    theirs.close()
    return child, ours


def test_a_child_is_another_process_and_leads_a_group():
    child, pipe = _started(answer, "hello")
    word, pid, group, parent = pipe.recv()
    assert (word, pid, group, parent) == ("hello", child.pid, child.pid, os.getpid())
    child.end()
    assert not child.alive


@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM, signal.SIGUSR1])
def test_signals_are_the_parents_matter(signum):
    child, pipe = _started(sleep_with_a_child)
    os.kill(child.pid, signum)  # perhaps while it imports
    grandchild = pipe.recv()
    os.kill(child.pid, signum)
    time.sleep(0.2)
    assert child.alive
    child.kill()
    assert not child.alive
    assert all_end([grandchild])


def test_a_signal_while_starting_is_not_lost_for_the_parent():
    """It is held back, and comes afterwards."""
    noted = []
    before = signal.signal(signal.SIGUSR1, lambda *_: noted.append(1))
    try:
        with child_process._signals_held():
            # to this thread: any other one, of torch or of pytest-xdist, may take a signal to the process
            signal.pthread_kill(threading.get_ident(), signal.SIGUSR1)
            assert noted == []
        assert noted == [1]
    finally:
        signal.signal(signal.SIGUSR1, before)


def test_children_of_a_child_hear_signals_again():
    """Ignored signals would be inherited by programs; SIGTERM ends a child's child."""
    child, pipe = _started(sleep_with_a_child)
    grandchild = pipe.recv()
    os.kill(grandchild, signal.SIGTERM)
    assert all_end([grandchild])
    child.kill()


def test_a_child_that_does_not_end_is_killed_in_time():
    child, pipe = _started(sleep_with_a_child)
    grandchild = pipe.recv()
    start = time.monotonic()
    child.end(seconds=0.3)
    assert 0.3 <= time.monotonic() - start < 5
    assert not child.alive
    assert all_end([grandchild])


def test_a_child_that_is_not_heard_of_but_lives_is_killed(monkeypatch):
    monkeypatch.setattr(child_process, "CLOSE_TIMEOUT", 0.1)
    child, pipe = _started(sleep_with_a_child)
    pipe.recv()
    assert child.ended() == "it closed its connection and did not end"
    assert not child.alive


@pytest.mark.parametrize(("code", "how"), [(3, "exit code 3"), (0, "exit code 0")])
def test_how_a_child_died(code, how):
    child = ChildProcess(leave, (code,), "test")
    assert child.died("step()").startswith(f"died in step(): {how}. It left no traceback")


def test_how_a_child_was_killed_and_its_group_with_it():
    child, pipe = _started(sleep_with_a_child)
    grandchild = pipe.recv()
    os.kill(child.pid, signal.SIGKILL)
    assert child.died("reset()").startswith("died in reset(): killed by SIGKILL. ")
    assert all_end([grandchild]), "what it has started ends with it"


def test_a_child_that_hangs():
    child, pipe = _started(sleep_with_a_child)
    grandchild = pipe.recv()
    assert child.hangs("step()", 2.5, "worker_timeout") == (
        "did not answer to step() for 2.5 seconds (worker_timeout) and was killed."
    )
    assert not child.alive
    assert all_end([grandchild])


PARENT = """
import sys, time
from processes import all_end
from utils.processes import child_process
from test_child_process import CONTEXT, sleep_with_a_child

def briefly(pipe):
    child_process.CLOSE_TIMEOUT = 0.2
    sleep_with_a_child(pipe)

if __name__ == "__main__":
    ours, theirs = CONTEXT.Pipe()
    child = child_process.ChildProcess(briefly, (theirs,), "test")
    print(child.pid, ours.recv(), flush=True)
    time.sleep(1000)
"""


def test_a_child_ends_after_its_parent_was_killed(tmp_path):
    """With what it has started, though it never looks."""
    (tmp_path / "parent.py").write_text(PARENT)
    path = os.pathsep.join([*sys.path, str(Path(__file__).parent)])
    parent = subprocess.Popen(
        [sys.executable, str(tmp_path / "parent.py")],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": path},
    )
    pids = list(map(int, parent.stdout.readline().split()))
    parent.kill()
    parent.wait()
    assert len(pids) == 2
    assert all_end(pids)
