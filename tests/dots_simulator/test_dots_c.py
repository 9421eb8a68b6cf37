"""The C header writes what the Python package writes for the same game."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from dots_simulator import layout, sealed
from dots_trainers import Trainer, Trainer0, int32s

pytestmark = pytest.mark.slow

SIMULATORS = Path(__file__).resolve().parents[2] / "simulators"
HEADER = SIMULATORS / "c" / "dots_simulator.h"
COMPILER = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
needs_compiler = pytest.mark.skipif(COMPILER is None, reason="no C compiler")


def test_the_headers_numbers_are_those_of_the_layout():
    found = dict(re.findall(r"#define DOTS_(\w+) (\d+)\n", HEADER.read_text()))
    expected = {f"HEADER_{name.upper()}": entry.offset for name, entry in layout.HEADER.items()}
    expected |= {f"HEADER_0_{name.upper()}": entry.offset for name, entry in layout.HEADER_0.items()}
    for name in ("HEADER_BYTES", "SIDE_START", "FIRST_SIDE_CAPACITY", "SIDE_START_0", "FIRST_BYTES_0"):
        expected[name] = getattr(layout, name)
    expected |= {"_WHOSE": sealed.WHOSE, "_SEALED": sealed.BYTES}
    assert {name: int(found[name]) for name in expected} == expected


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    path = tmp_path_factory.mktemp("c") / "basic"
    flags = ["-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-O1"]
    subprocess.run([COMPILER, *flags, "-o", path, SIMULATORS / "c" / "basic.c"], check=True)
    return [path]


def trace(command, kind, folder, wake):
    """All files after every turn of a game that ends for some, goes on for others, and is reset in between."""
    folder.mkdir()
    trainer = kind(folder, wake)
    process = subprocess.Popen([*command, "--memory-path", trainer.path])
    seen, random = [], np.random.default_rng(1)
    is_0 = kind is Trainer0

    def step(**options):
        trainer.turn(**options)
        seen.append((trainer.read(), trainer.heard, b"" if is_0 else trainer.header()))

    try:
        if not is_0:
            trainer.attach()
            step(query=True)
        for turn in range(130):
            if turn in (0, 70):
                step(**({"command": 1} if is_0 else {"reset": True}))
                continue
            count = trainer.number("Basic", "count" if is_0 else "decisions/count")
            # some never arrive, and are cut off
            trainer.act(
                "Basic", "discrete", np.where(np.arange(count) < 3, turn % 2 + 1, random.integers(0, 3, count))[:, None]
            )
            # long enough for a bigger file
            step(side=b"" if turn != 20 else bytes(range(16)) + (40).to_bytes(4, "little") + bytes(40))
        trainer.close()
        assert process.wait(10) == 0
        return seen
    finally:
        process.kill()
        process.wait()
        trainer.vanish()


@needs_compiler
@pytest.mark.parametrize("kind", [Trainer, Trainer0])
def test_every_byte_is_that_of_the_python_package(kind, wake, program, tmp_path):
    ours = trace([sys.executable, SIMULATORS / "basic.py"], kind, tmp_path / "python", wake)
    theirs = trace(program, kind, tmp_path / "c", wake)
    assert len(ours) == len(theirs)
    for turn, (python, c) in enumerate(zip(ours, theirs, strict=True)):
        assert python == c, turn
    endings = [read for read, _, _ in ours]
    assert len({len(read) for read in endings}) > 1, "no file has grown"


@needs_compiler
def test_another_version_is_refused_by_both_numbers_in_c(program, tmp_path):
    trainer = Trainer(tmp_path, version=(0, 3, 1))
    done = subprocess.run([*program, "--memory-path", trainer.path], capture_output=True, text=True, timeout=10)
    assert done.returncode == 1
    assert done.stderr == "the trainer speaks version 0.3.1, this simulator 0 and 0.3.2\n"
    assert trainer.header() == int32s(0, 3, 2) + bytes([0, 1, 0, 1]) + int32s(1, 0, 0) + b"\0"
