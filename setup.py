"""Builds the package `muster` of a flat `src/`: pyproject.toml has the rest.

In the checkout, the rooms of `src/` are imported by PyMARL's names (`from envs import REGISTRY`). The package has them
inside (`muster.envs`), with their imports rewritten, so that an installed Muster takes no other name than its own.
"""

import json
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

HERE = Path(__file__).resolve().parent
SOURCE = HERE / "src"
sys.path.insert(0, str(SOURCE))

from utils.own_imports import rewritten  # noqa: E402
from utils.own_modules import FROM_CHECKOUT, NAMES, digest_of, names_in  # noqa: E402

# beside `src/`: what programs read when they run
DATA = ("config", "simulators", "docs/tables", "docs/algorithms", "docs/models")
# simulators in Python import this package by its own name, with nothing else of Muster on their path
ALONE = ("dots_simulator", "simulators/python/dots_simulator")

# versions with which something does not work
BELOW = {"mujoco": "4"}


class BuildPackage(build_py):
    """Writes the package `muster`; an editable installation has `src/` on Python's path instead."""

    def run(self) -> None:
        """Write the package, if it is to be copied."""
        if self.editable_mode:
            super().run()
            return
        target = Path(self.build_lib) / "muster"
        shutil.rmtree(target, ignore_errors=True)
        for place, content in _files():
            path = target / place
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)

    def get_outputs(self, include_bytecode: bool = True) -> list[str]:
        """What `run` writes."""
        return [str(Path(self.build_lib) / "muster" / place) for place, _ in _files()]


def _files() -> Iterator[tuple[Path, bytes]]:
    """The files of the package by their places in it."""
    own = SOURCE / "muster"
    if doubled := {path.stem for path in own.iterdir() if path.stem in NAMES}:
        raise SystemExit(f"src/muster/ and src/ both have {', '.join(sorted(doubled))}; the package can have one.")
    for path in _below(SOURCE):
        place = path.relative_to(own if path.is_relative_to(own) else SOURCE)
        content = path.read_bytes()
        yield place, rewritten(content, "muster.", _is_own) if path.suffix == ".py" else content
    rooms, doors = names_in(SOURCE)
    yield Path(FROM_CHECKOUT), json.dumps({"rooms": rooms, "doors": doors, "digest": digest_of(SOURCE)}).encode()
    for folder in DATA:
        for path in _below(HERE / folder):
            yield path.relative_to(HERE), path.read_bytes()
    for path in _below(SOURCE / ALONE[0]):
        yield Path(ALONE[1]) / path.relative_to(SOURCE / ALONE[0]), path.read_bytes()


def _below(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file() and path.parent.name != "__pycache__")


def _is_own(module: str) -> bool:
    return module.partition(".")[0] in NAMES


def _ranges(file: str) -> list[str]:
    """The requirements of a file of pins, each from the oldest version that was tried."""
    return [_range(line) for line in _lines(file)]


def _range(line: str) -> str:
    requirement, semicolon, marker = line.partition(";")
    name, equals, version = requirement.strip().partition("==")
    if equals:
        oldest = dict(one.split("==") for one in _lines("requirements-oldest.txt"))
        requirement = f"{name}>={oldest.get(name.partition('[')[0], version)}"
        requirement += f",<{BELOW[name]}" if name in BELOW else ""
    return f"{requirement}{semicolon}{marker}"


def _lines(file: str) -> list[str]:
    lines = (line.partition("#")[0].strip() for line in (HERE / file).read_text().splitlines())
    return [line for line in lines if line]


# pkg_resources, for which requirements.txt pins it, has a stand-in (`utils/old_sacred.py`)
BASE = [line for line in _ranges("requirements.txt") if not line.startswith("setuptools")]
EXTRAS = "browser cluster data dm-control envs jax machine mlflow mongo onnx openspiel ratings wandb".split()

setup(
    packages=["muster"],
    package_dir={"": "src"},
    cmdclass={"build_py": BuildPackage},
    install_requires=[*BASE, *_ranges("requirements-completion.txt")],
    extras_require={extra: _ranges(f"requirements-{extra}.txt") for extra in EXTRAS},
)
