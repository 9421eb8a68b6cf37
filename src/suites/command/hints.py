"""Commands of `suite.py` as messages name them."""

import argparse
import shlex
from collections.abc import Sequence
from pathlib import Path

from suites.plan.suite_file import suite_names
from suites.state.state import SuiteFolder
from utils.own_commands import as_typed


def command(folder: SuiteFolder, word: str, only: Sequence[str] = ()) -> str:
    """`python src/suite.py WORD SUITE`, with the folder of results where it is not the usual one.

    `run` takes the file of a suite that is not among those of config/suites, the others its name.
    """
    suite = folder.name
    if word == "run" and suite not in suite_names():
        file = folder.content().get("file")
        suite = file if isinstance(file, str) and file.isprintable() else suite
    return _joined(word, suite, folder.results, only)


def estimate_command(options: argparse.Namespace) -> str:
    """`python src/suite.py estimate SUITE` for the suite of a command line, which need not have been started."""
    return _joined("estimate", options.suite, options.results, options.only)


def _joined(word: str, suite: str, results: Path, only: Sequence[str]) -> str:
    words = ["python", "src/suite.py", word, suite, *(f"--only={one}" for one in only)]
    if results.absolute() != Path("results").absolute():
        words.append(f"--results={results}")
    return as_typed(shlex.join(words))
