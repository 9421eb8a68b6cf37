"""A few seconds of everything that can happen to a run; `benchmarks/soak.py` does the same for longer."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

SOAK = Path(__file__).resolve().parents[2] / "benchmarks" / "soak.py"


@pytest.mark.timeout(600)
def test_some_seconds_of_faults(tmp_path):
    words = ["--minutes", "0.05", "--pause", "1", "--folder", str(tmp_path / "soak")]
    done = subprocess.run([sys.executable, str(SOAK), *words], capture_output=True, text=True, timeout=540)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Nothing is missing, and nothing is there twice." in done.stdout
    assert " x " in done.stdout
