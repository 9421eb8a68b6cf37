"""How far presets under the names of other programs are from their originals: the table of docs/family.md.

    python benchmarks/family_equals.py FOLDER             print the table
    python benchmarks/family_equals.py FOLDER --write     write it into docs/family.md
    python benchmarks/family_equals.py FOLDER --only qplex

FOLDER has checkouts of the originals, named as in FAMILIES; a preset whose original is not there keeps its row. Both
learn twice, from equal weights, on a batch of five episodes: all cut off at the limit, and of several lengths that end.
A row has the largest relative difference of all statistics that the original logs, and of all weights afterwards, the
target networks' too.
"""

import argparse
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "support"))

from epymarl_equals import ENDS, SEVERAL, WEIGHTS, errors_of, generated, ours, sizes_of, task_of, theirs
from utils.config.merging import config_names

PAGE = Path(__file__).resolve().parents[1] / "docs" / "family.md"
MARKS = "<!-- family_equals: begin -->", "<!-- family_equals: end -->"
# names of checkouts, and of the presets before the first underscore
FAMILIES = {
    "epymarl": "uoe-agents/epymarl",
    "pymarl2": "hijkzzz/pymarl2",
    "pymarl3": "tjuHaoXiaotian/pymarl3",
    "pymarlzoo": "AILabDsUnipi/pymarlzooplus",
}
# presets that learn from a reward for each agent, too
OWN_REWARDS = re.compile("epymarl_(iql|ia2c|ippo|maa2c|mappo|maddpg|pac|pac_dcg)(_ns)?")
# keys that an original sets by the map; the state of these batches has two numbers for each of three agents
BY_MAP = {"pymarl2_qatten": {"agent_own_state_size": 2}}
UPDATES = 2


@dataclass(frozen=True)
class Case:
    """A row: a preset, and changes of keys, ours and the original's."""

    preset: str
    note: str = ""
    individual: bool = False
    changes: dict = field(default_factory=dict)
    their_changes: dict = field(default_factory=dict)

    @property
    def family(self) -> str:
        return self.preset.partition("_")[0]

    @property
    def row(self) -> str:
        return f"| `{self.preset}`{', ' + self.note if self.note else ''} |"


def cases() -> Iterator[Case]:
    """All presets of all families, and settings in which an original is another algorithm."""
    for preset in config_names("algs"):
        if preset.partition("_")[0] in FAMILIES and "_" in preset:
            own, other = (BY_MAP.get(preset, {}) | weights for weights in WEIGHTS.get(preset, ({}, {})))
            yield Case(preset, changes=own, their_changes=other)
            if OWN_REWARDS.fullmatch(preset):
                yield Case(preset, "a reward for each agent", individual=True)
    yield from SETTINGS


SETTINGS: list[Case] = [
    Case("epymarl_pac_dcg_ns", note, changes=changes, their_changes=changes)
    for note, changes in (
        ("`cg_edges=line`", {"cg_edges": "line"}),
        ("`msg_iterations=2`", {"msg_iterations": 2}),
    )
]


def rows_of(family: str, chosen: list[Case], folder: Path) -> Iterator[tuple[Case, str]]:
    """The rows of a family's cases, from one process with its code."""
    checkout = folder / family
    command = ["git", "-C", str(checkout), "rev-parse", "--short=7", "HEAD"]
    commit = subprocess.run(command, capture_output=True, text=True).stdout.strip() or "unknown"
    mine, tasks = [], []
    for case in chosen:
        for ends in ENDS:
            batch = generated(ends, case.individual, sizes_of(case.preset), SEVERAL.get(case.preset, 1), case.preset)
            mine.append(ours(case.preset, batch, UPDATES, **case.changes))
            tasks.append(task_of(case.preset, batch, mine[-1][0], UPDATES, **case.their_changes))
    with tempfile.TemporaryDirectory() as place:
        others = theirs(checkout, Path(place), tasks)
    presets = [task["name"] for task in tasks]
    errors = [
        max(errors_of(*one, other, preset).values()) for one, other, preset in zip(mine, others, presets, strict=True)
    ]
    for case, of_case in zip(chosen, zip(*[iter(errors)] * len(ENDS), strict=True), strict=True):
        figures = " | ".join(f"{error:.1e}" for error in of_case)
        yield case, f"{case.row} {FAMILIES[family]} | {commit} | {figures} |"


def written(page: str, rows: dict[str, str], every: list[Case]) -> str:
    """The page with a table of the new rows, and of the old ones of cases that were not measured now."""
    before, _, rest = page.partition(MARKS[0])
    old, _, after = rest.partition(MARKS[1])
    kept = {line[: line.index("|", 1) + 1]: line for line in old.splitlines() if line.startswith("| `")}
    head = ["| preset | original | commit | cut off at the limit | of several lengths |", "|---|---|---|---|---|"]
    lines = [rows.get(case.row) or kept.get(case.row, "") for case in every]
    return "\n".join([f"{before}{MARKS[0]}", "", *head, *filter(None, lines), "", f"{MARKS[1]}{after}"])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path, help="with checkouts of the originals")
    parser.add_argument("--only", default="", help="presets whose name has this regular expression in it")
    parser.add_argument("--write", action="store_true", help="write the table into docs/family.md")
    options = parser.parse_args()
    every, rows = [*cases()], {}
    for family in FAMILIES:
        chosen = [case for case in every if case.family == family and re.search(options.only, case.preset)]
        if chosen and (options.folder / family).exists():
            for case, row in rows_of(family, chosen, options.folder.resolve()):
                rows[case.row] = row
                print(row, flush=True)
    if options.write:
        PAGE.write_text(written(PAGE.read_text(), rows, every))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
