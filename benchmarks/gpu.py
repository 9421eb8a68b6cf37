"""Does Muster run on this machine's GPU, how fast, and where does the time go? Takes six minutes at most.

    python benchmarks/gpu.py --json gpu.json
    python benchmarks/gpu.py --minutes 3 --parts presets

1. Every preset of config/algs trains on the card and on the CPU, from the same random numbers, and the first figures of
   the two are compared. 2. Whole runs, updates of QMIX and the simulator alone are timed, the most important first.
3. What only a card runs is compared with the plain path, and timed if its figures are the same. A table in Markdown
comes at the end, also if the time is over or the program is stopped. Without a card, the CPU does a smaller part of it.
The exit code is 1 if a preset failed, or its figures differ.

It needs Linux, torch, numpy, numba, PyYAML, tqdm and cloudpickle, of which joblib brings a copy.
"""

import argparse
import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))

import torch as th
from gpu_children import Child, Deadline, Failed
from gpu_presets import comparison, first_figures
from gpu_report import markdown
from gpu_speed import RUNS, SIMULATED, UPDATED, Run, cpu_name, rate, simulated, update

from utils.config.merging import config_names

ROOT = Path(__file__).resolve().parents[1]
PARTS = ("presets", "runs", "updates", "simulator", "options")
# without a card: most battles of a run
FEW = 64
# what only a card runs, or runs otherwise: a run by preset and map, words, and how near its figures are to the plain
# path's
OPTIONS = (
    ("qmix_fast", "8m", "precision=bfloat16", 0.1),
    ("ippo", "2s3z", "precision=bfloat16", 0.1),
    ("qmix_fast", "8m", "compile=on", 1e-3),
    ("mappo", "27m_vs_30m", "compile=on", 1e-3),
    ("ippo", "2s3z", "cuda_graphs=on", 1e-2),
    ("mappo", "27m_vs_30m", "cuda_graphs=on", 1e-2),
    ("pqn_vdn", "8m", "cuda_graphs=on", 1e-2),
    ("sac_discrete", "3m", "cuda_graphs=on", 1e-2),
)


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--minutes", type=float, default=6.0, help="after which it ends, whatever is left")
    parser.add_argument("--seconds", type=float, default=2.0, help="of each measurement, at least")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--presets", nargs="+", choices=config_names("algs"), default=config_names("algs"))
    parser.add_argument("--json", type=Path, help="write the figures into this file, too")
    options = parser.parse_args(argv)
    # stopped, it still prints what it has
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    benchmark = Benchmark(options)
    try:
        benchmark.run()
    except KeyboardInterrupt:
        print("stopped", flush=True)
    finally:
        benchmark.end()
        print("\n" + markdown(benchmark.found), flush=True)
        if options.json:
            options.json.write_text(json.dumps(benchmark.found, indent=1) + "\n")
    return int(any(row["trains"] != "OK" or row["figures"] not in ("equal", "") for row in benchmark.found["presets"]))


class Benchmark:
    """Measures in the order of importance; `found` has what is known so far, as the JSON file does."""

    def __init__(self, options: argparse.Namespace):
        self._options, self._deadline = options, Deadline(60 * options.minutes)
        # this process never asks for the card: children could not use it then
        self._card, self._cpu = Child(self._deadline), Child(self._deadline)
        self._cores = len(os.sched_getaffinity(0))
        self.found: dict[str, Any] = {"machine": {}} | {part: [] for part in PARTS}

    def run(self) -> None:
        machine = self.found["machine"] = {"cores": self._cores}
        try:
            machine |= self._card.call(facts, seconds=120)
        except Failed as error:
            machine["problem"] = str(error)
        print(", ".join(f"{key} {value}" for key, value in machine.items() if value), flush=True)
        self._has_card = bool(machine.get("card"))
        if not self._has_card:
            print("There is no GPU here: the CPU does a smaller part.", flush=True)
            self._card = self._cpu
        for part, measure in (
            ("presets", self._presets),
            ("runs", lambda: self._runs("card") if self._has_card else self._runs("few")),
            ("updates", self._updates),
            ("simulator", self._simulator),
            ("options", self._trials),
            ("runs", lambda: self._runs("cpu") if self._has_card else None),
        ):
            if part in self._options.parts:
                measure()

    def end(self) -> None:
        self._card.end()
        self._cpu.end()

    def _presets(self) -> None:
        for preset in self._options.presets:
            row = {"preset": preset, "trains": "OK", "figures": ""}
            self.found["presets"].append(row)
            there = here = None
            by_cpu: dict[str, str] = {}
            self._cpu.ask(first_figures, preset, "cpu", {}, True)  # while the card trains, too
            with _noted(row, "trains"):
                there = self._has_card and self._card.call(first_figures, preset, "cuda", {}, True, seconds=40)
            with _noted(by_cpu, "fault"):
                here = self._cpu.answer(40)
            if by_cpu and row["trains"] == "OK":
                row["trains"] = f"{'on the CPU: ' if self._has_card else ''}{by_cpu['fault']}"
            if there and here:
                row["figures"] = comparison(there, here)
            print(f"{preset:<22}{row['trains']}  {row['figures']}".rstrip(), flush=True)

    def _runs(self, how: str) -> None:
        """Time them on the "card", on the "cpu" beside it, or with "few" battles on a machine without one."""
        if how != "cpu":
            runs = RUNS if how == "card" else _smaller(RUNS)
            self._rows = [(run, _empty_row(run, how)) for run in runs]
            self.found["runs"] = [row for _, row in self._rows]
        child, device, column = (self._card, "cuda", "card") if how == "card" else (self._cpu, "cpu", "cpu")
        for run, row in self._rows:
            if how == "cpu" and not run.on_cpu:
                continue
            if how == "cpu":
                row["threads"] = min(run.on_cpu, self._cores)
            parts = run.parts and how != "cpu"
            with _noted(row, column):
                words = run, row["threads"] if column == "cpu" else 1, device, self._options.seconds, parts
                timed = child.call(rate, *words, seconds=45 + 10 * self._options.seconds)
                row[column], row["spent"] = timed["rate"], timed.get("spent") or row["spent"]
                if not timed["updates"]:
                    row["run"] += " (no update yet)"
            shown = f"{row[column]:,.0f} steps/s" if isinstance(row[column], float) else row[column]
            print(f"{row['run']}, {run.battles} at a time, {device}: {shown}", flush=True)

    def _updates(self) -> None:
        for shape in UPDATED:
            row = {"shape": shape, "card": "", "cpu": ""}
            self.found["updates"].append(row)
            for column, device in (("card", "cuda"), ("cpu", "cpu")) if self._has_card else (("cpu", "cpu"),):
                child = self._card if column == "card" else self._cpu
                with _noted(row, column):
                    row[column] = child.call(update, shape, device, self._options.seconds)
            print(f"an update of QMIX, 32 full episodes: {row}", flush=True)

    def _simulator(self) -> None:
        for map_name in SIMULATED:
            for threads in sorted({1, min(8, self._cores), min(16, self._cores)}):
                row = {"map": map_name, "threads": threads, "rate": ""}
                self.found["simulator"].append(row)
                with _noted(row, "rate"):
                    row["rate"] = self._cpu.call(simulated, map_name, threads, self._options.seconds / 2)
                print(f"the simulator alone: {row}", flush=True)

    def _trials(self) -> None:
        for preset, map_name, words, near in OPTIONS:
            row = {"run": f"{preset} {map_name}", "with": words, "figures": "", "plain": "", "changed": ""}
            self.found["options"].append(row)
            if not self._has_card:
                row["figures"] = "needs a GPU"
                continue
            with _noted(row, "figures"):
                key, _, value = words.partition("=")
                plain = self._card.call(first_figures, preset, "cuda", {}, False, seconds=40)
                changed = self._card.call(first_figures, preset, "cuda", {key: value}, False, seconds=90)
                row["figures"] = comparison(changed, plain, near)
            if row["figures"] == "equal":
                run = next(run for run in RUNS if (run.preset, run.map_name) == (preset, map_name))
                for column, changes in (("plain", ""), ("changed", words)):
                    with _noted(row, column):
                        timed = run, 1, "cuda", self._options.seconds, False, changes
                        row[column] = self._card.call(rate, *timed, seconds=90)["rate"]
            print(
                f"{row['run']} with {words}: {row['figures']}, {row['plain']} and {row['changed']} steps/s", flush=True
            )


def _smaller(runs: Iterable[Run]) -> list[Run]:
    """These with few battles, each once."""
    found = {}
    for run in runs:
        run = run._replace(battles=min(FEW, run.battles))
        found.setdefault((run.name, run.battles), run)
    return list(found.values())


def _empty_row(run: Run, how: str) -> dict[str, Any]:
    earlier = run.earlier if how == "card" else 0
    return {
        "run": run.name,
        "battles": run.battles,
        "earlier": earlier,
        "card": "",
        "cpu": "",
        "threads": 1,
        "spent": "",
    }


@contextlib.contextmanager
def _noted(row: dict, column: str) -> Iterator[None]:
    """What fails within stands in the row."""
    try:
        yield
    except Failed as error:
        row[column] = str(error)


def facts() -> dict[str, Any]:
    """The machine as a child sees it, which may ask for the card."""
    card = th.cuda.get_device_properties(0) if th.cuda.is_available() else None
    commit = _said("git", "-C", str(ROOT), "rev-parse", "--short", "HEAD")
    return {
        "processor": cpu_name(),
        "card": f"{card.name}, {card.total_memory / 2**30:.0f} GiB" if card else "",
        "driver": _said("nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader") if card else "",
        "torch": th.__version__,
        "cudnn": th.backends.cudnn.version() if card else None,
        "python": sys.version.partition(" ")[0],
        "commit": commit,
    }


def _said(*command: str) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=20)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip().partition("\n")[0] if not done.returncode else ""


if __name__ == "__main__":
    sys.exit(main())
