"""One run of a suite, as the suite's files have it."""

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from utils.errors import ConfigError

# also of other numbers in a file
LARGEST_STEP = 2**53


@dataclass(frozen=True)
class SuiteRun:
    """One run of a suite.

    Attributes:
        id: its name and a hash of its config.
        algorithm: the row that it belongs to: its algorithm, with the names of its overrides.
        environment, map: the column.
        choices: the name of the chosen override by axis.
        t_max: steps.
        words: the command line of main.py, without `run_name` and the folder of results.
        confirmed: what a resumption has to name after `with`.
    """

    id: str
    algorithm: str
    environment: str
    map: str
    seed: int
    choices: dict[str, str]
    t_max: int
    words: list[str]
    confirmed: list[str] = field(default_factory=list)


def is_like(value: Any, example: Any) -> bool:
    """Whether a value from a file has the type of `example` (None: of a whole number), and no number is too large."""
    if type(value) in (int, float) and not abs(value) <= LARGEST_STEP:
        return False
    if example is None:
        return type(value) is int
    return type(value) in (int, float) if isinstance(example, float) else type(value) is type(example)


def run_of(path: Path, entry: Any) -> SuiteRun:
    """A run in a file's content.

    Raises:
        ConfigError: the file is damaged.
    """
    try:
        run = SuiteRun(**entry)
    except TypeError:
        raise ConfigError(f"{path} is damaged: a run in it has other fields.") from None
    typed = {int: (run.seed, run.t_max), list: (run.words, run.confirmed), dict: (run.choices,)}
    typed[str] = (run.id, run.algorithm, run.environment, run.map)
    well_typed = all(type(value) is kind for kind, values in typed.items() for value in values)
    if (
        not well_typed
        or not re.fullmatch(r"\w[\w.+-]*", run.id)
        or not 0 <= run.t_max <= LARGEST_STEP
        or not all(isinstance(text, str) for text in (*run.words, *run.confirmed))
    ):
        raise ConfigError(f"{path} is damaged: a run in it has other values than a suite writes.")
    return run
