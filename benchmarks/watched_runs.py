"""The common part of benchmarks that watch whole runs: starting one on Skirmish, reading its tests, plotting curves."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
# the console's line on a test
TEST = re.compile(r"Test after (\d+) steps: .*won ([\d.]+)")


def start_run(
    config: str, map_name: str, seed: int, *, results: Path, test_interval: int, t_max: int
) -> subprocess.Popen:
    """Start a run on a map of Skirmish, with one thread, whose console can be read."""
    command = [sys.executable, "-u", str(ROOT / "src" / "main.py"), f"--config={config}", "--env-config=skirmish"]
    command += ["with", f"env_args.map_name={map_name}", f"seed={seed}", f"test_interval={test_interval}"]
    command += [f"t_max={t_max}", "log_interval=100000000", f"local_results_path={results}"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment)


def tests_of(process: subprocess.Popen) -> Iterator[tuple[int, float]]:
    """Each test as it is logged: environment steps, share of battles won."""
    for line in process.stdout:
        if (told := TEST.search(line)) is not None:
            yield int(told[1]), float(told[2])


def plain(axes: Any) -> None:
    """Give matplotlib axes a light grid and no frame above and to the right."""
    axes.grid(alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)


def save_with_legend(figure: Any, axes: Any, path: Path) -> None:
    """Finish a figure of curves over environment steps."""
    axes.set_xlabel("environment steps")
    plain(axes)
    axes.legend(frameon=False, fontsize=8)
    figure.savefig(path, dpi=150)
