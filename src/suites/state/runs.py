"""One run of a suite, as the suite's files have it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from utils.errors import ConfigError

RUNNING, DONE, FAILED, LOST, STOPPED = "running", "done", "failed", "lost", "stopped"
# of a run whose trial had ended
DROPPED = "dropped"
# of what nobody has begun
WAITING = "waiting"
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

    @property
    def axes(self) -> dict[str, Any]:
        """Its value on each axis of the suite."""
        algorithm = self.algorithm.removesuffix("".join(f"+{name}" for name in self.choices.values()))
        of_all = {"seed": self.seed, "algorithm": algorithm, "environment": self.environment, "map": self.map}
        return of_all | self.choices


_EXAMPLE = SuiteRun("", "", "", "", 0, {}, 0, [])


def is_like(value: Any, example: Any) -> bool:
    """Whether a value from a file has the type of `example` (None: of a whole number), and no number is too large."""
    if type(value) in (int, float) and not abs(value) <= LARGEST_STEP:
        return False
    if example is None:
        return type(value) is int
    return type(value) in (int, float) if isinstance(example, float) else type(value) is type(example)


def well_typed(default: Any, found: Any) -> dict[str, Any]:
    """The fields of the dataclass `default` that a file's content has with values of the same type."""
    if not isinstance(found, Mapping):
        return {}
    names = [one.name for one in fields(default)]
    return {name: found[name] for name in names if name in found and is_like(found[name], getattr(default, name))}


def run_of(path: Path, entry: Any) -> SuiteRun:
    """A run in a file's content. Raises: ConfigError: the file is damaged."""
    try:
        run = SuiteRun(**entry)
    except TypeError:
        raise ConfigError(f"{path} is damaged: a run in it has other fields.") from None
    if (
        well_typed(_EXAMPLE, vars(run)) != vars(run)
        or not re.fullmatch(r"\w[\w.+-]*", run.id)
        or run.t_max < 0
        or not all(isinstance(text, str) for text in (*run.words, *run.confirmed))
    ):
        raise ConfigError(f"{path} is damaged: a run in it has other values than a suite writes.")
    return run
