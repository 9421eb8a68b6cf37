"""A moment of the fuzzer of DOTS files; ten minutes: python tests/fuzz/fuzz_dots.py."""

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.slow
def test_spoilt_files_are_faults_and_nothing_else():
    fuzzer = Path(__file__).with_name("fuzz_dots.py")
    # in a process of its own: it limits its memory
    ran = subprocess.run(
        [sys.executable, str(fuzzer), "--seconds", "1.5"], capture_output=True, text=True, timeout=120, check=False
    )
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.endswith("with a fault, nothing else\n")
