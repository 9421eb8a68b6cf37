"""A Python that lacks the packages of a run: which one has them, or the command that installs them."""

import os
import sys
from importlib.util import find_spec
from pathlib import Path

from utils.own_commands import DISTRIBUTION
from utils.own_modules import HOME, PREFIX

ROOT = HOME
# what the packages of requirements.txt are imported by
REQUIRED = frozenset(
    "torch sacred setuptools numpy yaml tensorboard_logger six tensorboard google cloudpickle tqdm numba PIL".split()
)


def lacking() -> str:
    """A package that every program needs and this Python has not, or ""."""
    return next((name for name in ("numpy", "yaml", "torch", "sacred") if find_spec(name) is None), "")


def without_package(name: str) -> str:
    """The message about a package of requirements.txt that this Python has not."""
    if PREFIX:
        return f"{sys.executable} lacks the package '{name}'; install it with: pip install {DISTRIBUTION}."
    own = ROOT / ".venv" / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    command = f"./{shown}" if not (shown := _shown(ROOT / "muster")).startswith(os.sep) else shown
    if Path(sys.prefix).resolve() == own.parents[1].resolve():
        remedy = f"install it with: {_shown(own)} -m pip install -r {_shown(ROOT / 'requirements.txt')}"
    elif own.exists():
        remedy = f"use the command {command}, or the Python that has it: {_shown(own)}"
    else:
        remedy = f"use the command {command}, which sets up a Python with all that a run needs"
    return f"{sys.executable} lacks the package '{name}'; {remedy}."


def _shown(path: Path) -> str:
    """Relative to the current folder if it is below it."""
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else str(path)
