"""A moment of each fuzzer: the config loader and the checkpoint reader under atheris, and spoilt files of DOTS.

Ten minutes of the last: python tests/fuzz/fuzz_dots.py.
"""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

HERE = Path(__file__).parent
SECONDS = 2
LIMITS = ["-runs=100000", f"-max_total_time={SECONDS}", "-seed=7", "-timeout=30", "-rss_limit_mb=4096", "-max_len=300"]


@pytest.mark.parametrize("name", ["fuzz_config", "fuzz_checkpoint"])
def test_nothing_but_clear_errors(name, tmp_path):
    pytest.importorskip("atheris", reason="atheris has no wheel for this Python or machine")
    (tmp_path / "corpus").mkdir()
    command = [sys.executable, str(HERE / f"{name}.py"), "corpus", *LIMITS, "-len_control=0", "-print_final_stats=1"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stderr[-3000:]
    (runs,) = (line for line in done.stderr.splitlines() if "number_of_executed_units" in line)
    assert int(runs.split()[-1]) > 20
    assert [path.name for path in tmp_path.iterdir()] == ["corpus"]


def test_spoilt_files_of_dots_are_faults_and_nothing_else():
    # in a process of its own: it limits its memory
    command = [sys.executable, str(HERE / "fuzz_dots.py"), "--seconds", "1.5"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("with a fault, nothing else\n")
