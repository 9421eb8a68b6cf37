"""One measurement on two checkouts of Muster, in turns, so that what else the machine does meets both alike.

Each is measured in a separate process, because both have modules of the same names.
"""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType

OURS = Path(__file__).resolve().parents[1] / "src"


def codes(against: Path | None) -> dict[str, Path]:
    """The `src` folders that are measured: "other", if there is one, and "this"."""
    return {"other": against, "this": OURS} if against else {"this": OURS}


def fastest(script: str, rounds: int, found_in: Mapping[str, Path], *words: str) -> dict[str, dict]:
    """The last line of `script --child SRC *words`, as JSON with a "rate": the fastest of several rounds.

    Raises:
        SystemExit: it failed, with what it said.
    """
    best: dict[str, dict] = {}
    for _ in range(rounds):
        for code, src in found_in.items():
            command = [sys.executable, script, *sys.argv[1:], "--child", str(src), *words]
            done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "OMP_NUM_THREADS": "1"})
            if done.returncode:
                raise SystemExit(done.stderr)
            found = json.loads(done.stdout.splitlines()[-1])
            if code not in best or found["rate"] > best[code]["rate"]:
                best[code] = found
    return best


def ratio(best: Mapping[str, dict], code: str) -> str:
    """The speed of a code against the other one's, "1.02×", or blanks."""
    return f"{best[code]['rate'] / best['other']['rate']:>6.2f}×" if "other" in best else " " * 7


def assembly(src: str) -> ModuleType:
    """The module with `assemble` of the code in `src`, whose modules are imported from now on."""
    sys.path.insert(0, src)
    try:
        from experiment import assembly
    except ImportError:  # code whose modules lay beside the packages
        import assembly
    return assembly
