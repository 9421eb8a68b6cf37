"""Muster's own modules: `envs.skirmish` in the checkout, `muster.envs.skirmish` where it is installed.

The wheel (`setup.py`) has all rooms and doors of `src/` in the package `muster` and rewrites their imports
(`utils/own_imports.py`); names of modules in texts go through `own_name`.
"""

import hashlib
import json
import sys
from pathlib import Path

# what the package has of its checkout: the names and `digest_of` its `src/`
FROM_CHECKOUT = "checkout.json"
# of the names where Muster is installed; "" in the checkout
PREFIX = __name__.removesuffix("utils.own_modules")
# the folder of rooms and doors: `src/`, or the package
SOURCE = Path(__file__).resolve().parents[1]
# the folder of `config/` and `simulators/`: the checkout, or the package
HOME = SOURCE if PREFIX else SOURCE.parent


def names_in(source: Path) -> tuple[list[str], list[str]]:
    """The rooms (packages) and doors (programs and `run`) of a checkout's `src/`, without the package `muster`."""
    rooms = sorted(path.parent.name for path in source.glob("*/__init__.py"))
    rooms.remove("muster")
    return rooms, sorted(path.stem for path in source.glob("*.py"))


def digest_of(source: Path) -> str:
    """Of the source files in a checkout's `src/`."""
    digest = hashlib.sha256()
    for path in sorted(source.rglob("*.py")):
        digest.update(path.relative_to(source).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:16]


_checkout = json.loads((SOURCE / FROM_CHECKOUT).read_text()) if PREFIX else {}
ROOMS, DOORS = (_checkout["rooms"], _checkout["doors"]) if PREFIX else names_in(SOURCE)
# their names in the checkout
NAMES = frozenset([*ROOMS, *DOORS])


def source_digest() -> str:
    """`digest_of` the checkout that this is, or that the package was built from."""
    return _checkout["digest"] if PREFIX else digest_of(SOURCE)


def own_name(name: str) -> str:
    """What a module is called here: one of ours by its name in the checkout, any other by its own."""
    return PREFIX + name if name.partition(".")[0] in NAMES else name


def checkout_name(name: str) -> str:
    """The inverse of `own_name`."""
    return name.removeprefix(PREFIX) if PREFIX else name


def door(name: str) -> list[str]:
    """What Python is started with to run a program of ours, such as `main`: options, and a file or module.

    Where Muster is installed, neither the program's folder nor the current one is a place to import from.
    """
    return ["-P", "-m", PREFIX + name] if PREFIX else [str(SOURCE / f"{name}.py")]


def door_command(name: str) -> list[str]:
    """`door` with this Python before it."""
    return [sys.executable, *door(name)]
