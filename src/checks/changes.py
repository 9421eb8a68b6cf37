"""Which keys may change when a run is resumed."""

import os
from collections.abc import Mapping
from typing import Any

from checks.options import completed, declared
from checks.parts import ChosenParts
from checks.teams import team_config
from utils.config.merging import flatten
from utils.config.options import FREE
from utils.config.renamed_keys import REMOVED
from utils.errors import ConfigError


def check_changes(before: dict, after: dict) -> None:
    """Refuse changes after which the curves would mix two experiments.

    A key that the run's parts have only had since it was recorded counts as its default there.

    Args:
        before: the checked config of the run, with whole paths (`checks.lasting`).
        after: the same with the changes of the command line.

    Raises:
        ConfigError: the first key that may not change, and why.
    """
    options = declared(before)
    free = [key for key, option in options.items() if option.resume == FREE]
    old, new = flatten(completed(before)), flatten(completed(after))
    for key in sorted({*old, *new}):
        top = key.split(".")[0]
        if top not in free and top not in REMOVED and not is_same(old.get(key), new.get(key)):
            decides = options[top].resume if top in options else "the behaviour of a part that is not built in"
            raise ConfigError(
                f"{key}={_shown(new.get(key))}: a resumed run keeps its {key} ({_shown(old.get(key))}), which "
                f"decides {decides}. Free to change: {', '.join(free)}. "
                "A new run can start from this one's weights with checkpoint_path."
            )


def warnings_of_changes(before: dict, after: dict) -> list[str]:
    """Which keys are newer than the run, and what another `t_max` changes besides the length, in sentences.

    Arguments as `check_changes`.
    """
    return [*_newer_keys(before, after), *_moved_schedules(before, after)]


def _newer_keys(before: dict, after: dict) -> list[str]:
    newer = {key: value for key, value in completed(before).items() if key not in before}
    words = [f"{key}={_shown(value)}" for key, value in sorted(newer.items()) if key in after and after[key] == value]
    return [f"Keys that are newer than this run have their defaults: {' '.join(words)}."] if words else []


def _moved_schedules(before: dict, after: dict) -> list[str]:
    if before["t_max"] == after["t_max"]:
        return []
    configs = [after, *(team_config(after, team) for team in after["teams"])]
    ending = {
        key: config[key]
        for config in configs
        for key, option in declared(config).items()
        if option.until_t_max and config.get(key) is not None and key in ChosenParts(config).read_keys()
    }
    if not ending:
        return []
    keys = " and ".join(f"{key}={value}" for key, value in ending.items())
    return [
        f"{keys}: reached at t_max, so t_max={after['t_max']} instead of {before['t_max']} changes the schedule, and "
        "the figures will differ from those of a run that had this t_max from the start."
    ]


def is_same(old: Any, new: Any) -> bool:
    """Whether values are equal, or files of one name: a file may have moved, and records have whole paths."""
    if isinstance(old, str) and isinstance(new, str) and os.path.isabs(old) and os.path.isabs(new):
        return os.path.basename(old) == os.path.basename(new)
    if isinstance(old, list | tuple) and isinstance(new, list | tuple):
        return len(old) == len(new) and all(map(is_same, old, new))
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        return old.keys() == new.keys() and all(is_same(old[key], new[key]) for key in old)
    return old == new


def _shown(value: Any) -> str:
    return "null" if value is None else str(value)
