"""Run mypy on src, and compare its number of errors with the one in pyproject.toml, which may only fall."""

import re
import subprocess
import sys
import tomllib
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def main() -> int:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["muster"]["types"]
    command = [sys.executable, "-m", "mypy", "--no-color-output", "--no-error-summary", "src"]
    output = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True).stdout
    errors = [line for line in output.splitlines() if ": error:" in line]
    by_room = Counter(re.match(r"src/(\w+)", line)[1] for line in errors)
    wrong = [room for room in settings["without_errors"] if by_room[room]]
    for line in errors:
        if (wrong and line.startswith(tuple(f"src/{room}/" for room in wrong))) or (
            not wrong and len(errors) > settings["errors"]
        ):
            print(line)
    print(
        f"mypy: {len(errors)} errors, {settings['errors']} allowed:",
        *(f"{room} {n}" for room, n in by_room.most_common()),
    )
    if wrong:
        print(f"These rooms have no errors of types: {', '.join(wrong)}. Mend what is new.")
    elif len(errors) > settings["errors"]:
        print("There are more than before: mend what is new.")
    elif len(errors) < settings["errors"]:
        print(f"Fewer than before: write `errors = {len(errors)}` in pyproject.toml, [tool.muster.types].")
    return bool(wrong) or len(errors) != settings["errors"]


if __name__ == "__main__":
    raise SystemExit(main())
