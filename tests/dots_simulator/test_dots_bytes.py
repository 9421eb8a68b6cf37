"""Every byte of a turn, against bytes written by hand from the description of the protocols."""

import subprocess
from pathlib import Path

import numpy as np
import pytest
from test_dots_c import COMPILER

from dots_trainers import float32s, int32s

SEEN = [np.array([[1, 2], [3, 4]]), np.arange(6).reshape(2, 3, 1)]
MASKS = np.array([[0, 1, 0, 0, 1], [1, 0, 0, 1, 0]], dtype=bool)


class Compiled:
    """A script in C, in a process of its own."""

    def __init__(self, program, path, script):
        self._process = subprocess.Popen([program, script.__name__, "--memory-path", path])

    def end(self):
        try:
            assert self._process.wait(10) == 0
        finally:
            self._process.kill()


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    path = tmp_path_factory.mktemp("c") / "script"
    source = Path(__file__).resolve().parents[1] / "support" / "dots_script.c"
    subprocess.run([COMPILER, "-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-o", path, source], check=True)
    return path


@pytest.fixture(params=["python", "c"])
def scripted(request, played):
    if request.param == "python":
        return played
    if COMPILER is None:
        pytest.skip("no C compiler")
    compiled = request.getfixturevalue("program")
    return lambda path, script: Compiled(compiled, path, script)


def hybrid(simulator):
    """Three turns of one behaviour with everything: two observations, both kinds of actions, masks, ends."""
    pairs = simulator.behaviour("Pair", 3, observations=[(2,), (3, 1)], continuous=1, discrete=(2, 3))
    assert simulator.exchange() and simulator.reset_wanted
    pairs.decide([7, 9], SEEN, [0.5, -1.0], MASKS)
    assert simulator.exchange() and not simulator.reset_wanted
    pairs.end([7], [rows[:1] + 10 for rows in SEEN], [2.0], True)
    pairs.decide([9], [rows[1:] for rows in SEEN], [0.25])
    simulator.exchange()


SPEC = (
    b"\4Pair" + int32s(3, 2) + int32s(2, 0, 0, 0, 0, 0, 0) + int32s(3, 1, 0, 0, 0, 0, 0) + int32s(1) + int32s(2, 2, 3)
)


def block(count, first, second, rewards, ids, status=None):
    """A block of 3 rows, in the order of protocol 0.3.2."""
    rows = int32s(count) + float32s(*first) + float32s(*second) + float32s(*rewards)
    return rows + (b"" if status is None else bytes(status)) + int32s(*ids)


def actions(continuous, discrete):
    return float32s(*continuous) + int32s(*discrete)


def test_every_byte_of_0_3_2(trainer, scripted):
    game = scripted(trainer.path, hybrid)
    trainer.attach()
    assert trainer.header() == int32s(0, 3, 2) + bytes([1, 0, 0, 0]) + int32s(1, 0, 0) + b"\0"
    trainer.turn(reset=True)

    nothing = block(0, [0] * 6, [0] * 9, [0] * 3, [0] * 3)
    masks = bytes([0, 1, 0, 0, 1, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0])
    decisions = block(2, [1, 2, 3, 4, 0, 0], [0, 1, 2, 3, 4, 5, 0, 0, 0], [0.5, -1, 0], [7, 9, 0]) + masks
    ended = nothing[: 4 + 4 * 18] + bytes(3) + bytes(12)
    groups = SPEC + decisions + ended + actions([0] * 3, [0] * 6)
    assert trainer.read() == int32s(0) + bytes(16) + groups
    # file 2 is the trainer's, for its side channel; file 3 has the group
    assert trainer.header() == int32s(0, 3, 2) + bytes([1, 0, 0, 0]) + int32s(3, 20, len(groups)) + b"\0"

    trainer.act("Pair", "continuous", [[0.75], [-0.5]])
    trainer.act("Pair", "discrete", [[1, 2], [0, 1]])
    trainer.turn()
    # what the second turn does not write stays; masks are cleared
    masks = bytes(5) + masks[5:]
    decisions = block(1, [3, 4, 3, 4, 0, 0], [3, 4, 5, 3, 4, 5, 0, 0, 0], [0.25, -1, 0], [9, 9, 0]) + masks
    ended = block(1, [11, 12, 0, 0, 0, 0], [10, 11, 12] + [0] * 6, [2, 0, 0], [7, 0, 0], [1, 0, 0])
    assert trainer.read() == int32s(0) + bytes(16) + SPEC + decisions + ended + actions(
        [0.75, -0.5, 0], [1, 2, 0, 1, 0, 0]
    )
    trainer.act("Pair", "continuous", [[0.125]])
    trainer.give()
    trainer.close()
    game.end()


def test_actions_come_to_those_that_asked(trainer, played):
    taken = []

    def script(simulator):
        pairs = simulator.behaviour("Pair", 3, observations=[(1,)], continuous=1, discrete=(4,))
        simulator.exchange()
        pairs.decide([5, 3], [np.zeros((2, 1))])
        pairs.decide([4], [np.zeros((1, 1))])
        simulator.exchange()
        taken.append((pairs.continuous.tolist(), pairs.discrete.tolist()))
        pairs.decide([4], [np.zeros((1, 1))])
        simulator.exchange()
        taken.append((pairs.continuous.tolist(), pairs.discrete.tolist()))
        # a turn that the trainer never sees
        assert simulator.exchange() and not len(pairs.continuous)

    game = played(trainer.path, script)
    trainer.attach()
    trainer.turn(reset=True)
    assert trainer.array("Pair", "decisions/agent_id", 3).tolist() == [5, 3, 4]
    trainer.act("Pair", "continuous", [[1], [2], [3]])
    trainer.act("Pair", "discrete", [[3], [2], [1]])
    trainer.turn()
    trainer.act("Pair", "continuous", [[4]])
    trainer.act("Pair", "discrete", [[0]])
    trainer.turn()
    assert trainer.header()[15], "the simulator has not closed"
    game.end()
    assert taken == [([[1], [2], [3]], [[3], [2], [1]]), ([[4]], [[0]])]


def branches(simulator):
    """Two turns of agents with two branches; in the second, all end and ask again."""
    walkers = simulator.behaviour("Walk", 2, observations=[(2,), (1,)], discrete=(2, 3))
    while simulator.exchange():
        if simulator.reset_wanted:
            walkers.decide([1, 2], [np.array([[1, 2], [3, 4]]), np.array([[5], [6]])], [0, 1], MASKS)
            continue
        if walkers.discrete[0].tolist() == [1, 2]:
            walkers.end([1, 2], [np.full((2, 2), 8), np.full((2, 1), 9)], [2, 3], [False, True])
            walkers.decide([2], [np.array([[7, 7]]), np.array([[7]])])
        else:
            walkers.end([1], [np.full((1, 2), 6), np.full((1, 1), 6)], [1])
            walkers.decide([2], [np.array([[5, 5]]), np.array([[5]])], [0.5], MASKS[:1])


SPEC_0 = b"\4Walk".ljust(64, b"\0") + int32s(2) + b"\0" + int32s(2, 2, 3) + int32s(2) + int32s(2, 0, 0, 1, 0, 0)


def rows_0(count, first, second, rewards, done, cut_off, ids, masks, actions):
    flags = bytes(done) + bytes(cut_off)
    seen = float32s(*first) + float32s(*second) + float32s(*rewards)
    return int32s(count) + seen + flags + int32s(*ids) + bytes(masks) + int32s(*actions)


def test_every_byte_of_0(trainer_0, scripted):
    game = scripted(trainer_0.path, branches)
    trainer_0.turn(command=1)
    masks = MASKS.astype(int).ravel().tolist()
    rows = rows_0(2, [1, 2, 3, 4], [5, 6], [0, 1], [0, 0], [0, 0], [1, 2], masks, [0] * 4)
    groups = int32s(1) + SPEC_0 + rows
    assert trainer_0.read() == int32s(14 + 20 + len(groups), 0) + bytes(2) + int32s(20) + bytes(20) + groups

    trainer_0.act("Walk", "discrete", [[1, 2], [0, 1]])
    trainer_0.turn()
    # no room for ends and decisions: the ends come first
    rows = rows_0(2, [8] * 4, [9, 9], [2, 3], [1, 1], [0, 1], [1, 2], [0] * 10, [1, 2, 0, 1])
    assert trainer_0.read()[-len(rows) :] == rows
    trainer_0.turn()
    rows = rows_0(1, [7, 7, 8, 8], [7, 9], [0, 3], [0, 1], [0, 1], [2, 2], [0] * 10, [1, 2, 0, 1])
    assert trainer_0.read()[-len(rows) :] == rows

    trainer_0.act("Walk", "discrete", [[1, 1]])
    trainer_0.turn()
    rows = rows_0(2, [6, 6, 5, 5], [6, 5], [1, 0.5], [1, 0], [0, 0], [1, 2], [0] * 5 + MASKS[0].tolist(), [1, 1, 0, 1])
    assert trainer_0.read()[-len(rows) :] == rows
    # of the agent that asked in the second row
    trainer_0.act("Walk", "discrete", [[0, 0], [1, 2]])
    trainer_0.turn()
    rows = rows_0(2, [8] * 4, [9, 9], [2, 3], [1, 1], [0, 1], [1, 2], [0] * 10, [0, 0, 1, 2])
    assert trainer_0.read()[-len(rows) :] == rows
    trainer_0.close()
    game.end()
    assert not list(trainer_0.path.parent.glob("memory*_")) and not trainer_0.path.exists()
