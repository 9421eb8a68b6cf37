"""Conditions of a suite's file, as `when` and `exclude` have them: which runs are meant."""

import re
from collections.abc import Mapping
from typing import Any

from suites.plan.resources import require_known
from utils.errors import ConfigError
from utils.files.written_numbers import plain
from utils.nearest import suggestion
from utils.plain_values import quoted

# axis -> allowed values
Condition = dict[str, list]
ANY = "*"


def read_condition(where: str, value: Any, values: Mapping[str, list]) -> Condition:
    """A condition as it is written: axis -> value, or list of values, in which `*` stands for any text.

    Args:
        where: in the file, for messages.
        values: of the suite, by axis.

    Raises:
        ConfigError: an axis or a value that the suite does not have, or a text with `*` that fits none.
    """
    require_known(where, value, values)
    if not value:
        raise ConfigError(f"{where} is empty, which would mean every run.")
    condition: Condition = {}
    for axis, wanted in value.items():
        chosen = plain(wanted if isinstance(wanted, list) else [wanted])
        found = (one for each in chosen for one in _matching(where, axis, each, values[axis]))
        condition[axis] = list(dict.fromkeys(found))
    return condition


def holds(condition: Condition, axes: Mapping[str, Any]) -> bool:
    """Whether a run is meant. `axes`: its value on each axis."""
    return all(axes[axis] in allowed for axis, allowed in condition.items())


def _matching(where: str, axis: str, wanted: Any, known: list) -> list:
    """The values that one of a condition stands for."""
    if wanted in known:
        return [wanted]
    if isinstance(wanted, str) and ANY in wanted:
        form = re.compile(".*".join(map(re.escape, wanted.split(ANY))), re.S)
        if found := [one for one in known if isinstance(one, str) and form.fullmatch(one)]:
            return found
    if known == [""]:
        raise ConfigError(f"{where}: the suite has no maps, so none is {quoted(wanted)}.")
    raise ConfigError(f"{where}: the suite has no {axis} {quoted(wanted)}.{suggestion(wanted, known, limit=30)}")
