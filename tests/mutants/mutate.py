"""Which mistakes the tests notice: `python tests/mutants/mutate.py [WORDS]` makes them one after another in a copy.

Each mutant of the catalogs whose name contains all the words is put into a copy of this checkout, the tests that it
names are run there, and those that fail are printed. A mutant that no test fails for survives: the exit code is 1
then. Tests that fail in the copy without any mutant do not count. A mutant whose part is gone stops the command.

Tests that failed on 22 November 2026 (the first row: two days later) for the mistakes that a learning curve shows last:

    mistake                         q_learner  qtran_learner  coma_learner  pqn_learner
    train returns at once               35          10            10            18
    the targets never change             4           1             1        has no targets
    the mask is all ones            54 in tests/learners and tests/utils/test_rl_utils.py
    a sample is the first rows      6 in tests/components/buffers; for the rollout, the first one stays: 3
"""

import argparse
import inspect
import os
import re
import shutil
import subprocess
import sys
import tempfile
import textwrap
from collections import Counter
from pathlib import Path

import collectors_catalog
import epymarl_catalog
import teams_catalog
import transitions_catalog
from catalog import MUTANTS, Edit, Mutant

ROOT = Path(__file__).resolve().parents[2]
LOCATE = """
import importlib, inspect, sys
module, name = sys.argv[1].split(":")
part = importlib.import_module(module)
first, *rest = name.split(".")
owner = getattr(part, first)
for attribute in rest:
    getattr(owner, attribute)
print(inspect.getsourcefile(owner))
"""
PASSED, FAILED = 0, 1  # pytest's exit codes
# what fails in the copy without a mutant, for the tests that were run
BASELINES: dict[tuple[str, ...], set[str]] = {}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("words", nargs="*", help="only mutants whose names contain them all")
    parser.add_argument("--list", action="store_true", help="print the names and stop")
    parser.add_argument("--tests", nargs="+", help="run these tests instead of those that the mutants name")
    arguments = parser.parse_args()
    known = (
        *MUTANTS,
        *teams_catalog.MUTANTS,
        *epymarl_catalog.MUTANTS,
        *transitions_catalog.MUTANTS,
        *collectors_catalog.MUTANTS,
    )
    chosen = [mutant for mutant in known if all(word in mutant.name for word in arguments.words)]
    if not chosen:
        sys.exit("No mutant has such a name; --list prints all of them.")
    if arguments.list:
        print(*(mutant.name for mutant in chosen), sep="\n")
        return 0
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        copy = Path(folder) / "checkout"
        copy_checkout(copy)
        survivors = [mutant.name for mutant in chosen if not noticed(mutant, copy, arguments.tests or mutant.tests)]
    print(f"\n{len(chosen)} mutants, {len(survivors)} survived", *survivors, sep="\n  ")
    return 1 if survivors else 0


def copy_checkout(target: Path) -> None:
    """The files that git tracks, or would track."""
    command = ["git", "-C", str(ROOT), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    for name in filter(None, subprocess.run(command, check=True, capture_output=True, text=True).stdout.split("\0")):
        if (ROOT / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target / name)


def noticed(mutant: Mutant | Edit, copy: Path, tests: tuple[str, ...]) -> bool:
    """Whether tests fail in the copy with the mutant in it that pass without; prints which."""
    if tuple(tests) not in BASELINES:
        BASELINES[tuple(tests)] = failures(copy, tests)
    path, mutated = mutation_of(mutant, copy)
    text = path.read_text()
    path.write_text(mutated)
    try:
        failed = failures(copy, tests) - BASELINES[tuple(tests)]
    finally:
        path.write_text(text)
    print(f"{mutant.name}: {f'{len(failed)} tests fail' if failed else 'SURVIVES'}", flush=True)
    names = Counter(re.sub(r"\[.*", "", test) for test in failed)
    for name, count in sorted(names.items()):
        print(f"    {name}{f' ({count})' if count > 1 else ''}", flush=True)
    return bool(failed)


def mutation_of(mutant: Mutant | Edit, copy: Path) -> tuple[Path, str]:
    """The file that is mutated, and what is in it then. Exits: what is to be mutated is not there."""
    if isinstance(mutant, Edit):
        found = [path for path in sorted((copy / "src").rglob("*.py")) if mutant.old in path.read_text()]
        if len(found) != 1 or found[0].read_text().count(mutant.old) != 1:
            sys.exit(f"{mutant.name}: {mutant.old!r} is not found once in src/, but in {len(found)} files.")
        return found[0], found[0].read_text().replace(mutant.old, mutant.new)
    path = Path(python(copy, "-c", LOCATE, mutant.part, what=mutant.name).strip())
    source = textwrap.dedent(inspect.getsource(mutant.mutation))
    name = mutant.part.split(":")[1]
    call = f"{mutant.mutation.__name__}({', '.join([name, *map(repr, mutant.arguments)])})"
    return path, f"{path.read_text()}\n\n{source}\n\n{name} = {call}\n"


def python(copy: Path, *arguments: str, what: str) -> str:
    """The output of Python. Exits if it fails."""
    environment = {**os.environ, "PYTHONPATH": "src"}
    done = subprocess.run([sys.executable, *arguments], cwd=copy, env=environment, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{what}: {done.stderr}")
    return done.stdout


def failures(copy: Path, tests: tuple[str, ...]) -> set[str]:
    """The tests that fail or cannot be set up. Exits: there are no such tests."""
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-rfE", *tests]
    done = subprocess.run(command, cwd=copy, capture_output=True, text=True)
    if done.returncode not in (PASSED, FAILED):
        sys.exit(f"pytest {' '.join(tests)}: {done.stdout[-3000:]}{done.stderr[-1000:]}")
    return set(re.findall(r"^(?:FAILED|ERROR) (\S+)", done.stdout, re.MULTILINE))


if __name__ == "__main__":
    sys.exit(main())
