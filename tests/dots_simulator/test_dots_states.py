"""Simulators that are saved and restored continue as if they had not been."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from test_dots_c import needs_compiler, program  # noqa: F401

from dots_simulator.saving import from_bytes, to_bytes
from dots_trainers import Trainer, float32s, int32s, message

pytestmark = pytest.mark.slow

SIMULATORS = Path(__file__).resolve().parents[2] / "simulators"
STATE = "cfa7ec29-54cc-4f0c-b855-81781f71553c"
PARAMETERS = "534c891e-810f-11ea-a9d0-822485860400"
HEAD = len(message(STATE, b""))


class Game:
    """A simulator's process and its trainer, who plays by a stream of random numbers."""

    def __init__(self, command, folder):
        folder.mkdir()
        self.trainer = Trainer(folder)
        self.process = subprocess.Popen([*command, "--memory-path", self.trainer.path])
        self.trainer.attach()

    def play(self, turns, random):
        """What the trainer sees in each of these turns."""
        seen = []
        for _ in range(turns):
            for name, places in self.trainer.groups().items():
                count = self.trainer.number(name, "decisions/count")
                for kind in ("continuous", "discrete"):
                    shape = (count, places[f"actions/{kind}"][2][1])
                    draw = random.normal(size=shape) if kind == "continuous" else random.integers(0, 2, shape)
                    self.trainer.act(name, kind, draw)
            self.trainer.turn()
            seen.append((self.trainer.read()[self.trainer.capacity :], self.trainer.heard))
        return seen

    def load(self, state):
        self.trainer.turn(message(STATE, int32s(3) + state), query=True)
        assert self.trainer.heard[:HEAD][:16] == message(STATE, b"")[:16]
        return self.trainer.heard[HEAD + 4 :].decode()

    def save(self):
        self.trainer.turn(message(STATE, int32s(1)), query=True)
        assert self.trainer.heard[:HEAD] == message(STATE, bytes(len(self.trainer.heard) - HEAD))[:HEAD]
        assert self.trainer.heard[HEAD : HEAD + 4] == int32s(2)
        return self.trainer.heard[HEAD + 4 :]

    def end(self):
        self.trainer.close()
        assert self.process.wait(10) == 0


def python(name):
    return [sys.executable, SIMULATORS / f"{name}.py", "--seed", "5"]


def continues_after_a_load(command, folder):
    first = Game(command, folder / "first")
    gravity = message(PARAMETERS, int32s(7) + b"gravity" + int32s(0) + float32s(20.0))
    first.trainer.turn(gravity, reset=True)
    assert message(STATE, int32s(0)) in first.trainer.heard, "the state is not offered"
    first.play(60, np.random.default_rng(1))
    shown = first.trainer.read()[first.trainer.capacity :]
    state = first.save()
    assert first.trainer.read()[first.trainer.capacity :] == shown
    expected = first.play(60, np.random.default_rng(2))
    assert len({read for read, _ in expected}) > 50, "the game stands still"

    # in a process that has shown nothing, and in one that has played something else
    second, third = Game(command, folder / "second"), Game(command, folder / "third")
    third.trainer.turn(reset=True)
    third.play(20, np.random.default_rng(3))
    for other in (second, third):
        assert other.load(state) == ""
        assert other.trainer.read()[other.trainer.capacity :] == shown
        played = other.play(60, np.random.default_rng(2))
        assert [read for read, _ in played] == [read for read, _ in expected]
    for game in (first, second, third):
        game.end()


@pytest.mark.parametrize("name", ["ball_3d", "soccer", "basic", "grid_world", "wall_jump"])
def test_every_loaded_simulator_continues_exactly(name, tmp_path):
    continues_after_a_load(python(name), tmp_path)


@needs_compiler
def test_a_loaded_simulator_in_c_continues_exactly(program, tmp_path):  # noqa: F811
    continues_after_a_load(program, tmp_path)


def test_a_foreign_state_is_refused_by_a_sentence(tmp_path):
    ball = Game(python("ball_3d"), tmp_path / "ball")
    ball.trainer.turn(reset=True)
    foreign = ball.save()
    basic = Game(python("basic"), tmp_path / "basic")
    assert "this simulator has {'Basic'" in basic.load(foreign)
    assert "the simulator's state is damaged" in basic.load(b"nothing")
    # it plays nevertheless
    basic.trainer.turn(reset=True)
    assert basic.trainer.number("Basic", "decisions/count") == 8
    for game in (ball, basic):
        game.end()


def test_states_are_arrays_and_plain_values():
    state = {"a": np.arange(3.0), "random": np.random.default_rng(1).bit_generator.state, "n": 3, "none": None}
    back = from_bytes(to_bytes(state))
    assert back.pop("a").tolist() == [0, 1, 2]
    assert back == {key: value for key, value in state.items() if key != "a"}
    with pytest.raises(TypeError, match="an array of objects"):
        to_bytes({"a": np.array([object()])})
    with pytest.raises(TypeError):
        to_bytes({"a": object()})
