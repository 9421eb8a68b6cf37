"""Which small mistakes the tests notice: `make mutants MODULE=src/learners/q_learner.py TESTS=tests/learners`.

Cosmic Ray changes one operator, constant or condition of the module after another, in a copy of this checkout, and runs
the tests there. It makes a sample of the changes, drawn by a seed. A mutant that no test fails for survives: it is
printed with its difference, and the exit code is 1. To be run before releases, over what has changed.
"""

import argparse
import random
import shlex
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from contextlib import closing
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CONFIG = """
[cosmic-ray]
module-path = "{module}"
timeout = {timeout}
test-command = {command!r}
excluded-modules = []
[cosmic-ray.distributor]
name = "local"
"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("module", type=Path, help="file of src whose mutants are made")
    parser.add_argument("tests", nargs="+", help="tests that should notice")
    parser.add_argument("--count", type=int, default=30, help="mutants, of all that there are")
    parser.add_argument("--seed", type=int, default=0, help="which ones")
    parser.add_argument("--timeout", type=float, default=300, help="seconds after which a mutant counts as noticed")
    options = parser.parse_args()
    tests = [sys.executable, "-m", "pytest", "-x", "-p", "no:cacheprovider", *options.tests]
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        copy = Path(folder) / "checkout"
        copy_checkout(copy)
        if subprocess.run(tests, cwd=copy).returncode:
            sys.exit("The tests fail without any mutant.")
        (copy / "config.toml").write_text(
            CONFIG.format(
                module=options.module.resolve().relative_to(ROOT), timeout=options.timeout, command=shlex.join(tests)
            )
        )
        cosmic_ray(copy, "init", "config.toml", "session.sqlite")
        total = keep_a_sample(copy / "session.sqlite", options.count, options.seed)
        cosmic_ray(copy, "exec", "config.toml", "session.sqlite")
        survivors = survived(copy / "session.sqlite")
    print(*survivors, f"{min(total, options.count)} of {total} mutants made, {len(survivors)} survived", sep="\n")
    return bool(survivors)


def copy_checkout(target: Path) -> None:
    """The files that git tracks, or would track."""
    command = ["git", "-C", str(ROOT), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    for name in filter(None, subprocess.run(command, check=True, capture_output=True, text=True).stdout.split("\0")):
        if (ROOT / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target / name)


def cosmic_ray(copy: Path, *words: str) -> None:
    subprocess.run([sys.executable, "-m", "cosmic_ray.cli", *words], cwd=copy, check=True)


def keep_a_sample(session: Path, count: int, seed: int) -> int:
    """Leave `count` mutants of the session; return how many there were."""
    with closing(sqlite3.connect(session)) as database, database:
        order = "SELECT job_id FROM mutation_specs ORDER BY start_pos_row, start_pos_col, operator_name, occurrence"
        jobs = [job for (job,) in database.execute(order)]
        dropped = set(jobs) - set(random.Random(seed).sample(jobs, min(count, len(jobs))))
        for table in ("mutation_specs", "work_items"):
            database.executemany(f"DELETE FROM {table} WHERE job_id = ?", [(job,) for job in dropped])
    return len(jobs)


def survived(session: Path) -> list[str]:
    """The difference of each mutant that no test noticed."""
    with closing(sqlite3.connect(session)) as database:
        return [text for (text,) in database.execute("SELECT diff FROM work_results WHERE test_outcome = 'SURVIVED'")]


if __name__ == "__main__":
    sys.exit(main())
