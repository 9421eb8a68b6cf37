"""Scripts of inputs: their text, and that they drive the same race again."""

import re

import numpy as np
import pytest

from envs.trackmania.inputs_script import script_of
from trackmania_game.car import Car

LINE = re.compile(r"(\d+\.\d\d)-(\d+\.\d\d) press (up|down|left|right)\n")
KEYS = ("left", "right", "up", "down")  # as the game's inputs are ordered


def test_each_line_is_a_time_that_a_key_is_held():
    assert script_of([0, 0, 1, 3, 11, 11], 50) == (
        "0.00-0.15 press up\n0.10-0.15 press left\n0.20-0.30 press up\n0.20-0.30 press down\n0.20-0.30 press right\n"
    )
    assert script_of([0] * 3 + [3] * 1200, 50) == "0.00-0.15 press up\n"
    assert script_of([3, 3], 50) == script_of([], 50) == ""


def driven(script, line_file, most=2000):
    """The milliseconds at which the stand-in's car finishes by a script, which is read as TMInterface reads it."""
    lines = [LINE.fullmatch(line) for line in script.splitlines(keepends=True)]
    held = [(round(float(a) * 100), round(float(b) * 100), key) for a, b, key in (line.groups() for line in lines)]
    car, tick = Car(line_file), 0
    while not car.finished and tick < most:
        car.tick(*(any(a <= tick < b and key == name for a, b, key in held) for name in KEYS))
        tick += 1
    return 10 * tick


@pytest.mark.slow
def test_the_script_of_a_race_drives_it_again(stand_in, make_env, line_file):
    env = make_env(stand_in())
    env.reset()
    rng, info, steps = np.random.default_rng(3), {}, 0
    while "best_of" not in info:
        action = rng.choice([0, 0, 0, 1, 2, 3])
        *_, cut, info = env.step({"actions": np.array([action])})
        assert not cut
        steps += 1
    files = info["best_of"]["files"]
    assert driven(files["race.inputs"], line_file) == info["race_time"]
    positions = files["positions"]
    assert positions.shape == (steps + 1, 3)
    assert positions[0] == pytest.approx([10, 10, 5], abs=0.5)
    assert positions[-1, 0] > positions[-2, 0] > 60
