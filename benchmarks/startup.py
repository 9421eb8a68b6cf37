"""How long a command takes to show something: the list of choices, and the first environment step of a run.

    python benchmarks/startup.py

Prints the median of five, after one to warm the disk, beside a bare `import torch` in the same run.
"""

import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

MAIN = str(Path(__file__).resolve().parents[1] / "src" / "main.py")


def seconds_until(command: list[str], sign: str | None) -> float:
    """Seconds until `command` prints a line with `sign` in it, or until it ends."""
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    for line in process.stdout:
        if sign is not None and sign in line:
            break
    elapsed = time.perf_counter() - start
    if sign is None:
        process.wait()
        elapsed = time.perf_counter() - start
    process.kill()
    process.wait()
    return elapsed


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        run = ["--config=qmix", "--env-config=two_step", "with", "seed=1", f"local_results_path={folder}"]
        commands = {
            "import torch": ([sys.executable, "-c", "import torch"], None),
            "--list": ([sys.executable, MAIN, "--list"], None),
            # printed after the first episode of two steps
            "first steps of a two_step run": ([sys.executable, "-u", MAIN, *run], "t_env: 2 /"),
        }
        for name, (command, sign) in commands.items():
            times = [seconds_until(command, sign) for _ in range(6)][1:]
            print(f"{name}: {statistics.median(times):.2f} s")


if __name__ == "__main__":
    main()
