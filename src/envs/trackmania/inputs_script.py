"""Races as scripts of inputs that TMInterface replays: `load race.inputs` in the game's console.

A line is `0.05-1.10 press up`: seconds from the race's start, and a key of `KEYS`. Source: Linesight's saved runs.
"""

from collections.abc import Sequence

from envs.racing.state import INPUTS

KEYS = ("up", "down", "left", "right")  # in the order of `INPUTS`: accelerate, brake, left, right


def script_of(actions: Sequence[int], step_ms: int) -> str:
    """The script of a race with these numbers of `INPUTS`, one for each step: a line for each time that a key was held,
    in the order in which they ended."""
    lines: list[str] = []
    since: list[int | None] = [None] * len(KEYS)
    for step, action in enumerate([*actions, None]):
        pressed = (0,) * len(KEYS) if action is None else INPUTS[action]
        for k, key in enumerate(KEYS):
            begun = since[k]
            if pressed[k] and begun is None:
                since[k] = step
            elif not pressed[k] and begun is not None:
                lines.append(f"{_seconds(begun, step_ms)}-{_seconds(step, step_ms)} press {key}\n")
                since[k] = None
    return "".join(lines)


def _seconds(step: int, step_ms: int) -> str:
    return f"{step * step_ms / 1000:.2f}"
