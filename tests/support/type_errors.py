"""mypy over src, in `make lint`: the number of its errors is the one in pyproject.toml, which may only fall."""

import subprocess
import sys
import tomllib
from collections import Counter
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).resolve().parents[2]


def main() -> int:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["muster"]["types"]
    command = [sys.executable, "-m", "mypy", "--no-color-output", "--no-error-summary", "src"]
    found = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    errors = [line for line in found.stdout.splitlines() if ": error: " in line]
    if found.returncode not in (0, 1):
        sys.exit(f"mypy ended with {found.returncode}: {found.stdout}")
    rooms = Counter(PurePosixPath(line.partition(":")[0]).parts[1] for line in errors)
    allowed, clean = settings["errors"], [room for room in settings["without_errors"] if rooms[room]]
    print(f"mypy: {len(errors)} errors, {allowed} allowed")
    if clean:
        print(*(line for line in errors if PurePosixPath(line.partition(":")[0]).parts[1] in clean), sep="\n")
        print(f"These rooms are without errors of types: {', '.join(settings['without_errors'])}.")
    elif len(errors) > allowed:
        print(*errors, f"Errors by room: {dict(rooms)}. Mend the new ones.", sep="\n")
    elif len(errors) < allowed:
        print(f"Fewer than before: write errors = {len(errors)} in pyproject.toml, [tool.muster.types].")
    return bool(clean) or len(errors) != allowed


if __name__ == "__main__":
    sys.exit(main())
