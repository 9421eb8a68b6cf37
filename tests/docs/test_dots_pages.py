"""The tables and examples of the pages about DOTS."""

import subprocess
import sys

import pytest

from dots_simulator.layout import HEADER, HEADER_0
from standins import ROOT

PAGE, PROTOCOLS = ((ROOT / "docs" / f"{name}.md").read_text() for name in ("dots_builds", "dots_protocols"))
TYPES = {"i": "int32", "B": "uint8"}


def test_the_tables_of_headers_are_the_layout():
    rows = [
        f"| {entry.offset} | {TYPES[entry.type]} | `{name}` | {entry.meaning} |"
        for header in (HEADER, HEADER_0)
        for name, entry in header.items()
    ]
    lines = [line for line in PROTOCOLS.splitlines() if line.startswith("| ")]
    written = [line for line in lines if line.split("|")[2].strip() in TYPES.values()]
    assert [line for line in written if "`" in line.split("|")[3]] == rows


@pytest.mark.slow
def test_the_example_of_the_api_runs():
    code = next(block for block in PAGE.split("```python\n")[1:] if "UnityEnvironment" in block).split("```")[0]
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env={"PYTHONPATH": "src", "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
