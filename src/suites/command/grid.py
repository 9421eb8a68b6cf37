"""EPyMARL's command line of `search.py`."""

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

from suites.plan.grid_file import ALGORITHM, ENVIRONMENT, read_grid
from utils.command_line import OptionParser, number
from utils.errors import ConfigError
from utils.nearest import suggestion
from utils.own_commands import as_typed
from utils.own_modules import SOURCE
from utils.plain_values import quoted

COMMANDS = ("locally", "single")
EPILOG = """\
commands, after the options:
  locally [--cpus N] [--yes]   all runs, N at a time, as a suite: the same command resumes them
  single INDEX                 one of them, counted from 0 in the order that locally --list shows

examples:
  python src/search.py run --config=search.config.example.yaml --seeds 5 locally
  python src/search.py run --config=search.config.example.yaml --seeds 5 single 1
"""


def dispatch(argv: Sequence[str]) -> None:
    """Run one command.

    Raises:
        ConfigError: the command line or a run is refused; nothing has started.
        MusterError: runs have failed.
    """
    words = list(argv)
    command = next((word for word in words if word in COMMANDS), None)
    before, after = (words, []) if command is None else _split(words, command)
    parser = _parser()
    if not before or before[0] in ("-h", "--help"):
        parser.print_help()
        return
    if before[0] != "run":
        raise ConfigError(f"There is no command '{quoted(before[0])}'.{suggestion(before[0], ['run'])}")
    options = parser.parse(before[1:])
    if command is None:
        raise ConfigError(f"search.py run ends with one of {' and '.join(COMMANDS)}. See python src/search.py --help.")
    own = _after(command).parse(after)
    grid = read_grid(_found(options.config))
    runs = grid.runs(options.seeds, options.shuffle)
    if command == "single":
        _single(runs, own.index, options.results)
    elif own.list:
        print("\n".join(f"{i}: {' '.join(words_of(run))}" for i, run in enumerate(runs)))
    else:
        _locally(grid.suite(options.seeds), len(runs), own, options.results)


def _found(path: Path) -> Path:
    """A file of that path, or of that name among Muster's own programs, as the example."""
    beside = SOURCE / path.name
    return beside if not path.is_file() and beside.is_file() else path


def words_of(run: dict[str, Any]) -> list[str]:
    """The words of main.py for a run."""
    chosen = [f"{key}={run[key]}" for key in (ALGORITHM, ENVIRONMENT)]
    return [*chosen, "with", *(f"{key}={value}" for key, value in run.items() if not key.startswith("--"))]


def _single(runs: list[dict[str, Any]], index: int, results: Path) -> None:
    import main

    if index >= len(runs):
        raise ConfigError(f"single {index}: there are {len(runs)} runs, counted from 0.")
    words = [*words_of(runs[index]), f"local_results_path={results}"]
    print(as_typed("python src/main.py"), *words, flush=True)
    if code := main.main(words):
        sys.exit(code)


def _locally(suite: dict[str, Any], count: int, options: argparse.Namespace, results: Path) -> None:
    from suites.command.main import dispatch as of_suites

    path = results / "searches" / f"{suite['name']}.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(yaml.safe_dump(suite, sort_keys=False))
    words = ["run", str(path), f"--results={results}", f"--jobs={options.cpus}"]
    of_suites([*words, "--dry-run"])
    print(f"There are {count} runs. Up to {options.cpus} will run in parallel. Continue? [y/N]: ", end="", flush=True)
    answer = "y" if options.yes else sys.stdin.readline().strip().lower()
    print(answer if options.yes else "", flush=True)
    if answer not in ("y", "yes"):
        raise ConfigError("Nothing has started. Answer y, or add --yes after locally.")
    of_suites(words)


def _split(words: list[str], command: str) -> tuple[list[str], list[str]]:
    place = words.index(command)
    return words[:place], words[place + 1 :]


def _parser() -> OptionParser:
    parser = OptionParser("search.py run", "All combinations of a file's values, as EPyMARL's search.py.", EPILOG)
    add = parser.add_argument
    add("--config", type=Path, default=Path("config.yaml"), metavar="FILE", help="the file (default: config.yaml)")
    add("--seeds", type=number(1, 1000, whole=True), default=3, metavar="N", help="the seeds 0 to N-1 (default: 3)")
    add("--shuffle", action=argparse.BooleanOptionalAction, default=True, help="EPyMARL's order of runs (default)")
    add("--results", type=Path, default=Path("results"), metavar="FOLDER", help="of all results (default: results)")
    return parser


def _after(command: str) -> OptionParser:
    parser = OptionParser(f"search.py run {command}", "")
    if command == "single":
        parser.add_argument("index", type=number(0, 10**6, whole=True), metavar="INDEX")
        return parser
    most = max(1, (os.cpu_count() or 2) - 1)
    parser.add_argument("--cpus", type=number(1, 4096, whole=True), default=most, metavar="N", help="runs at a time")
    parser.add_argument("--yes", action="store_true", help="do not ask")
    parser.add_argument("--list", action="store_true", help="show the runs, and start none")
    return parser
