"""Settings of all tests."""

import gc
import logging
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import settings

import forked
import quicker_runs  # noqa: F401
from own_parts import registries_restored
from utils.processes import child_process
from utils.tensors import lazy_dynamo

# the key of own results (records.own_marks) is not that of whoever runs the tests; children of tests take it over
STATE = os.environ["XDG_STATE_HOME"] = tempfile.mkdtemp(prefix="muster-state-")

# importing and collecting thousands of tests makes objects, and no garbage
gc.disable()

# a busy machine is not a failure; in CI the same examples are tried every time
settings.register_profile("muster", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("muster")


# a shell that starts the tests in its background has SIGINT ignored, and every process they start would inherit that
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_configure():
    """Refuse two test files of one name at the start: pytest finds them at the end, and on clean checkouts only."""
    files: dict[str, Path] = {}
    for file in sorted(Path(__file__).parent.rglob("test_*.py")):
        if file.name in files:
            raise pytest.UsageError(f"{file} and {files[file.name]}: pytest needs another name for one of them.")
        files[file.name] = file


def pytest_sessionstart(session):
    """Before it starts several processes of tests: the simulator is compiled while they run, once for all of them."""
    if session.config.getoption("numprocesses", None):
        folder, quiet = Path(__file__).parent, subprocess.DEVNULL
        environment = {**os.environ, "PYTHONPATH": str(folder.with_name("src"))}
        program = str(folder / "support" / "simulators_ahead.py")
        subprocess.Popen([sys.executable, program], env=environment, stdout=quiet, stderr=quiet)


def pytest_unconfigure(config):
    shutil.rmtree(STATE, ignore_errors=True)


# tests that make an optimiser themselves import torch's compiler no more than runs do
lazy_dynamo.defer()


# children of tests fork from a server that has imported everything; `spawned` is for the tests of how they really start
SPAWN = child_process.CONTEXT
if os.name == "posix":
    child_process.CONTEXT = forked.CONTEXT


@pytest.fixture(autouse=True)
def no_parts_left():
    """No test sees the parts that another one has registered, by a plugin say."""
    with registries_restored():
        yield


@pytest.fixture
def spawned(monkeypatch):
    """Child processes start as they do outside tests: an interpreter that imports what it needs."""
    monkeypatch.setattr(child_process, "CONTEXT", SPAWN)


WAYS_TO_PLAY = {"way", "runner", "source", "transport", "keys"}  # names of parameters
IN_PROCESSES = re.compile(r"\b(parallel|workers|pipe|shared_memory)\b")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Cases that play in worker processes are slow; the same tests of the other sources are in the fast set."""
    for item in items:
        case = getattr(item, "callspec", None)
        if case and WAYS_TO_PLAY & case.params.keys() and IN_PROCESSES.search(case.id):
            item.add_marker("slow")


def pytest_collection_finish(session):
    """What is imported now stays: the garbage collector need not look at it after each of thousands of tests."""
    gc.collect()
    gc.freeze()
    gc.enable()


@pytest.fixture(autouse=True)
def usual_logging():
    """Command lines that earlier tests ran in this process may have changed which messages are logged."""
    for name, level in ((None, logging.WARNING), ("muster", logging.NOTSET)):
        logging.getLogger(name).setLevel(level)
        logging.getLogger(name).disabled = False
