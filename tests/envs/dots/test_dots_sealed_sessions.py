"""Sessions whose files lie in the trainer's sealed memory, with simulators of the package and in C."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from envs.dots import protocol_0_3_2
from envs.dots.connecting import Wanted, connect
from envs.dots.shared_file import SealedFile
from waiting import comes_true

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[3]
BASIC = ROOT / "simulators" / "basic.py"
# shows one agent, whose reward `act(turn)` says
SIMULATOR = """
import contextlib, os, sys
import numpy as np
from dots_simulator import Simulator
{act}
with Simulator() as simulator:
    one = simulator.behaviour("One", 2, [(3,)], continuous=1)
    turn = 0
    while simulator.exchange():
        one.decide([4], [np.full((1, 3), turn)], act(turn))
        turn += 1
"""
TRUNCATES = """
def act(turn):
    refused = 0
    if turn == 0:  # the data file is still the simulator's own
        return 0
    for path in (str(simulator._path()), simulator._watch.path.as_posix() + ".sealed"):
        for size in (0, 10, 2**20):
            with open(path, "r+b") as file, contextlib.suppress(PermissionError):
                os.ftruncate(file.fileno(), size)
                refused -= 1
            refused += 1
    return refused
Simulator._path = lambda self: self._link._data_path()
"""
UNLINKS = """
def act(turn):
    path = str(simulator._watch.path)
    for name in os.listdir(os.path.dirname(path)):
        if turn and name.startswith(os.path.basename(path)) and name.rstrip("_") != name or name.endswith(".sealed"):
            whole = os.path.join(os.path.dirname(path), name)
            os.unlink(whole)
            if turn > 1:
                open(whole, "wb").close()
    return 1.0
"""
GROWS = """
others = []
def act(turn):
    if turn in (3, 4, 6):
        for _ in range(turn // 3):
            others.append(simulator.behaviour(f"Other{len(others)}", 1, [(2,)], discrete=(3,)))
        simulator.send_statistic("long " * 30, 1.0)
    for i, other in enumerate(others):
        other.decide([10 + i], [np.full((1, 2), turn)], i)
    return float(sum(other.discrete.sum() for other in others))
"""


@pytest.fixture
def started(tmp_path):
    """Starts simulators: a program, or the function `act` of one; nothing of them is left at the end."""
    sessions = []
    folder = tmp_path / "memory"
    folder.mkdir()

    def start(what, **options):
        if isinstance(what, str):
            (tmp_path / "simulator.py").write_text(SIMULATOR.format(act=what))
            what = tmp_path / "simulator.py"
        session = connect(Wanted(str(what), folder=str(folder), **{"protocol": "0.3.2", "timeout": 20.0} | options))
        sessions.append(session)
        session.give(reset=True)
        session.take()
        return session

    yield start
    for session in sessions:
        session.close()
    assert os.listdir(folder) == []


def play(session, action=0.0):
    """One turn, in which all that ask do the same."""
    for group in session.groups.values():
        spec = group.spec
        floats = np.full((group.asking, spec.continuous), action) if spec.continuous else None
        group.act(floats, np.full((group.asking, len(spec.branches)), int(action)) if spec.branches else None)
    session.give()
    session.take()


def is_mapped(session):
    """Whether the data file is: sealed, and a link."""
    mapped = isinstance(session._data, SealedFile)
    assert session._data.path.is_symlink() == mapped
    return mapped


def test_a_simulator_cannot_make_files_shorter_that_are_mapped(started):
    session = started(TRUNCATES)
    play(session)
    for turn in range(1, 6):
        assert is_mapped(session)
        shown = session.groups["One"].decisions()
        assert shown.obs[0].tolist() == [[turn] * 3] and shown.agent_id.tolist() == [4]
        assert shown.reward.tolist() == [6], "of six tries, some were not refused"
        play(session)


def test_files_that_are_removed_or_replaced_harm_nobody(started):
    session = started(UNLINKS)
    for turn in range(1, 8):
        play(session)
        assert session.groups["One"].decisions().obs[0].tolist() == [[turn] * 3]


def test_groups_that_come_later_are_mapped_with_the_next_turn(started):
    session = started(GROWS)
    play(session, 1.0)
    for turn in range(1, 10):
        # of the turns in which the simulator has made a bigger file
        assert is_mapped(session) == (turn not in (3, 4, 6))
        number = session._number
        others = (turn >= 3) + (turn >= 4) + 2 * (turn >= 6)
        assert list(session.groups) == ["One", *(f"Other{i}" for i in range(others))]
        for i in range(others):
            shown = session.groups[f"Other{i}"].decisions()
            assert shown.obs[0].tolist() == [[turn, turn]] and shown.reward.tolist() == [i]
        asked = others - (turn in (3, 4)) - 2 * (turn == 6)
        assert session.groups["One"].decisions().reward.tolist() == [asked]
        play(session, 1.0)
        assert session._number == number + (turn in (3, 4, 6)) + (turn in (2, 3, 5))


def test_both_sides_make_bigger_files_in_one_turn(started):
    session = started(GROWS)
    for turn in range(10):
        for group in session.groups.values():
            group.act(None, None)
        # a message that nobody knows
        body = bytes(100 * turn + 50)
        session.give(bytes(16) + len(body).to_bytes(4, "little") + body)
        session.take()
        assert session.groups["One"].decisions().obs[0].tolist() == [[turn + 1] * 3]


ONE = "act = lambda turn: 1.0"
# as one in another namespace of processes: the link leads nowhere, or to something else
SEES_NO_DESCRIPTORS = f"from dots_simulator import sealed\nsealed.whose = lambda about: bytes(16)\n{ONE}"


@pytest.mark.parametrize(
    ("program", "options", "limit"),
    [
        (ONE, {"wakes": False}, {}),
        (ONE, {"protocol": "0"}, {}),
        (ONE, {"wakes": False, "protocol": "0"}, {}),
        (ONE, {}, {"MOST_SEALED_BYTES": 60}),
        (ONE, {}, {"LAST_MOVED": 3}),
        (SEES_NO_DESCRIPTORS, {}, {}),
    ],
    ids=["no wake-ups", "0", "0 alone", "big files", "long names", "no descriptors"],
)
def test_files_that_are_not_sealed_are_read_as_before(started, monkeypatch, program, options, limit):
    for name, value in limit.items():
        monkeypatch.setattr(protocol_0_3_2, name, value)
    session = started(program, **options)
    assert session.wakes == options.get("wakes", True)
    for turn in range(1, 5):
        play(session)
        assert not is_mapped(session)
        assert session.groups["One"].decisions().obs[0].tolist() == [[turn] * 3]


def test_a_system_that_seals_nothing_is_served_as_before(started, monkeypatch):
    monkeypatch.delattr(os, "memfd_create")
    session = started(ONE)
    play(session)
    assert session.wakes and not is_mapped(session)


def test_a_file_that_cannot_be_sealed_is_shared_as_before(started, monkeypatch):
    session = started(ONE)

    def no_room(path, content):
        raise OSError("no more descriptors")

    monkeypatch.setattr(protocol_0_3_2.SealedFile, "create", no_room)
    number = session._number
    for turn in range(1, 4):
        play(session)
        assert not is_mapped(session)
        assert session.groups["One"].decisions().obs[0].tolist() == [[turn] * 3]
    assert session._number == number + 1, "it was tried once"


TRAINER = """
import os, sys, time
sys.path.insert(0, {src!r})
from envs.dots.connecting import Wanted, connect
session = connect(Wanted({executable!r}, folder={folder!r}, protocol="0.3.2"))
session.give(reset=True)
session.take()
session.give()
session.take()
print(session.process.pid, session.process._reaper.pid, flush=True)
time.sleep(100)
"""


def test_nothing_remains_of_a_trainer_that_is_killed_with_its_reaper(tmp_path):
    folder = tmp_path / "memory"
    folder.mkdir()
    code = TRAINER.format(src=str(ROOT / "src"), executable=str(BASIC), folder=str(folder))
    trainer = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    simulator, reaper = map(int, trainer.stdout.readline().split())
    assert len([one for one in folder.iterdir() if one.is_symlink()]) == 2
    # the simulator sees to the files
    os.kill(reaper, signal.SIGKILL)
    trainer.kill()
    trainer.wait()
    trainer.stdout.close()
    left = lambda: [one for one in os.listdir(folder) if not one.endswith(".log")]  # noqa: E731
    assert comes_true(lambda: not left()), f"simulator {simulator} has left {left()}"


def test_a_simulator_in_c_uses_sealed_memory(started, tmp_path):
    program = tmp_path / "basic"
    try:
        subprocess.run(["cc", "-O1", "-o", program, ROOT / "simulators" / "c" / "basic.c"], check=True)
    except FileNotFoundError:
        pytest.skip("no C compiler")
    sessions = [started(BASIC), started(program)]
    for _ in range(5):
        for session in sessions:
            play(session, 1.0)
            assert is_mapped(session) and session.wakes
        ours, theirs = (session.groups["Basic"].decisions() for session in sessions)
        assert np.array_equal(ours.obs[0], theirs.obs[0]) and np.array_equal(ours.reward, theirs.reward)
    for session in sessions:
        session.close()
        assert session.process.ending() == "exit code 0", "it has not seen that the trainer closes"
