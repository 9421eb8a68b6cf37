"""One measurement on two checkouts of Muster, slice by slice in turns, so that what else the machine does meets both.

Each runs in a separate process, because both have modules of the same names. With one seed both do the same work, so
slices are compared in pairs, and the ratio of speeds is the median over these.
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from statistics import median
from types import ModuleType

OURS = Path(__file__).resolve().parents[1] / "src"
# how long a slice should take at least
SLICE_SECONDS = 0.15
# where older checkouts have what the benchmarks import
OLDER_PLACES = {
    "utils.config.merging": "utils.config",
    "utils.numbers.random_streams": "utils.random_streams",
    "utils.processes.allocation": "utils.allocation",
    "utils.processes.stop_signals": "utils.stop_signals",
}


def codes(against: Path | None) -> dict[str, Path]:
    """The `src` folders that are measured: "other", if there is one, and "this"."""
    return {"other": against, "this": OURS} if against else {"this": OURS}


def in_turns(script: str, rounds: int, slices: int, found_in: Mapping[str, Path], *words: str) -> dict[str, dict]:
    """The rate of each code in `script --child SRC *words`, its "ratio" to the other one, and its "parts".

    Each round has new processes, because where a process lies in memory matters by some percent.

    Raises:
        SystemExit: a process failed, with what it said.
    """
    totals: dict[str, dict] = {code: {"steps": 0, "seconds": 0.0, "parts": {}} for code in found_in}
    ratios: list[float] = []
    for _ in range(rounds):
        children = {code: _Child(script, src, words) for code, src in found_in.items()}
        rollouts, first = 1, next(iter(children.values()))
        while first.play(rollouts)["seconds"] < SLICE_SECONDS:
            rollouts *= 2
        for child in list(children.values())[1:]:  # the others skip what the first has tried
            child.play(2 * rollouts - 1)
        for turn in range(slices):
            order = list(children) if turn % 2 else list(reversed(children))
            found = {code: children[code].play(rollouts) for code in order}
            for code, result in found.items():
                _add(totals[code], result)
            if "other" in found:
                ratios.append(_rate(found["this"]) / _rate(found["other"]))
        for child in children.values():
            child.close()
    shown = {code: {"rate": _rate(total), "parts": total["parts"]} for code, total in totals.items()}
    for code, result in shown.items():
        result["parts"] = {part: spent / totals[code]["seconds"] for part, spent in result["parts"].items()}
    if ratios:
        shown["this"]["ratio"] = median(ratios)
    return shown


def serve(play: Callable[[int], dict]) -> None:
    """In a child: for each line of the input, a number of rollouts, print the result of `play` as JSON.

    `play` returns "steps", "seconds" and, if it knows them, the seconds of each of the "parts".
    """
    for line in sys.stdin:
        print(json.dumps({"parts": {}, **play(int(line))}), flush=True)


def ratio(found: Mapping[str, float]) -> str:
    """The speed of a code against the other one's, "1.02×", or blanks."""
    return f"{found['ratio']:>6.2f}×" if "ratio" in found else " " * 7


def import_from(src: str) -> None:
    """Import the modules of the code in `src` from now on, under the names that they have today."""
    sys.path.insert(0, src)
    if not (Path(src) / "utils" / "config").is_dir():
        sys.modules.update({new: import_module(old) for new, old in OLDER_PLACES.items()})


def assembly(src: str) -> ModuleType:
    """The module with `assemble` of the code in `src`, whose modules are imported from now on."""
    import_from(src)
    try:
        from experiment import assembly
    except ImportError:  # code whose modules lay beside the packages
        import assembly
    return assembly


class _Child:
    def __init__(self, script: str, src: Path, words: tuple[str, ...]):
        command = [sys.executable, script, *sys.argv[1:], "--child", str(src), *words]
        pipe, environment = subprocess.PIPE, {**os.environ, "OMP_NUM_THREADS": "1"}
        self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True, env=environment)

    def play(self, rollouts: int) -> dict:
        try:
            self._process.stdin.write(f"{rollouts}\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            raise SystemExit(self._process.stderr.read()) from None
        for line in self._process.stdout:
            if line.startswith("{"):
                return json.loads(line)
        raise SystemExit(self._process.stderr.read())

    def close(self) -> None:
        self._process.communicate()


def _add(total: dict, result: dict) -> None:
    total["steps"] += result["steps"]
    total["seconds"] += result["seconds"]
    for part, seconds in result["parts"].items():
        total["parts"][part] = total["parts"].get(part, 0.0) + seconds


def _rate(result: dict) -> float:
    return result["steps"] / result["seconds"]
