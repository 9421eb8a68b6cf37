"""Muster's own modules: `envs.skirmish` in the checkout, `muster.envs.skirmish` where it is installed.

The wheel (`build_wheel.py`) has all rooms of `src/` in the package `muster` and rewrites their imports; names of
modules in texts go through `own_name` or `own_module`.
"""

import sys
from pathlib import Path

ROOMS = (
    "browser checkpoints checks cli collection components controllers dots_simulator envs experiment learners modules "
    "records replays runners suites utils vector_envs"
).split()
DOORS = "browse clone command convert diagnose main play replay report run search suite watch".split()
# their names in the checkout
NAMES = frozenset([*ROOMS, *DOORS])
# of the names where Muster is installed; "" in the checkout
PREFIX = __name__.removesuffix("utils.own_modules")
# the folder of rooms and doors: `src/`, or the package
SOURCE = Path(__file__).resolve().parents[1]
# the folder of `config/` and `simulators/`: the checkout, or the package
HOME = SOURCE if PREFIX else SOURCE.parent


def own_name(name: str) -> str:
    """What a module is called here: one of ours by its name in the checkout, any other by its own."""
    return PREFIX + name if name.partition(".")[0] in NAMES else name


def checkout_name(name: str) -> str:
    """The inverse of `own_name`, for what is written into files: the name of a module in the checkout."""
    return name.removeprefix(PREFIX) if PREFIX else name


def door(name: str) -> list[str]:
    """The words that start a program of ours, such as `main`, in a process of its own: Python's options and the file.

    Where Muster is installed, the program's folder and the current one are no places to import from.
    """
    return ["-P", "-m", PREFIX + name] if PREFIX else [str(SOURCE / f"{name}.py")]


def door_command(name: str) -> list[str]:
    """`door` for this Python."""
    return [sys.executable, *door(name)]
