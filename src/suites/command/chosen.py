"""`--only`: the part of a suite that a command means."""

from collections.abc import Sequence

from suites.plan.conditions import holds, read_condition
from suites.plan.suite_file import SuiteFile
from suites.state.runs import SuiteRun
from utils.errors import ConfigError
from utils.plain_values import quoted

OPTION = "--only"


def chosen(suite: SuiteFile, runs: list[SuiteRun], words: Sequence[str]) -> list[SuiteRun]:
    """The runs that fit all of `words`, `AXIS=VALUE[,VALUE]`, in which `*` stands for any text; all, without words.

    Raises:
        ConfigError: an axis or a value that the suite does not have, or no run fits.
    """
    if not words:
        return runs
    if suite.learning:
        raise ConfigError(f"{OPTION}: {suite.path} is a search whose trials are not known beforehand.")
    wanted: dict[str, list] = {}
    for word in words:
        axis, separator, values = word.partition("=")
        if not separator or not values:
            raise ConfigError(f"{OPTION}={quoted(word)}: expected AXIS=VALUE[,VALUE], such as {OPTION}=seed=1,2.")
        wanted.setdefault(axis, []).extend(_value(axis, value) for value in values.split(","))
    condition = read_condition(OPTION, wanted, suite.all_values)
    if not (found := [run for run in runs if holds(condition, run.axes)]):
        raise ConfigError(f"{OPTION}={quoted(' '.join(words))} leaves no run of {suite.path}.")
    return found


def _value(axis: str, text: str) -> str | int:
    return int(text) if axis == "seed" and text.isdecimal() and len(text) < 12 else text
