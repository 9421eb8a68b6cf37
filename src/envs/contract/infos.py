"""What is read in an environment's info besides figures, and how to keep names of strangers apart from that."""

import logging
from collections.abc import Iterable, Mapping
from typing import Any

from utils.plain_values import quoted

log = logging.getLogger("muster")

# entries of a last info that Muster acts on; docs/own_environment.md explains them
MEANINGS = ("episode_limit", "crashed", "only_of", "best_of")
# before the name of an environment's entry that would stand for something else
KEPT_APART = "env_"

MOST_WARNINGS = 100
_warned: set[str] = set()


def is_true(info: Mapping[Any, Any], key: str) -> bool:
    """Whether an entry is there and true. One that is neither true nor false is not, and a warning says so."""
    value = info.get(key, False)
    if value is True or value is False:
        return value
    try:
        return bool(value)
    except Exception:  # an array of several numbers, an object of a library
        warn_once(
            f"The environment's info has '{key}', a {type(value).__name__} without a truth value: it counts as False."
        )
        return False


def without_meaning(info: Mapping[Any, Any], names: Iterable[str] = MEANINGS) -> dict[Any, Any]:
    """The info of an environment that does not know of these names: such entries are renamed, `env_crashed`.

    A driving game's "crashed", say, is an accident, and its episodes count.
    """
    found = dict(info)
    for key in names:
        if key not in found:
            continue
        renamed = name_apart(key, found)
        found[renamed] = found.pop(key)
        warn_once(
            f"The environment's info has '{quoted(key)}', which means something else here (docs/own_environment.md): "
            f"it is kept as '{quoted(renamed)}'."
        )
    return found


def flat(info: Mapping[Any, Any], but: str) -> dict[Any, Any]:
    """The info with what mappings in it have beside the rest, as `agent_0/speed`: EPyMARL names VMAS's so.

    Args:
        but: entries whose names end so are left out.
    """
    found: dict[Any, Any] = {}
    for key, value in info.items():
        if isinstance(key, str) and key.endswith(but):
            continue
        if isinstance(value, Mapping):
            found |= {f"{key}/{name}": inner for name, inner in flat(value, but).items()}
        else:
            found[key] = value
    return found


def name_apart(name: str, taken: Any) -> str:
    """A name that is not in `taken`: `env_return` for `return`, or `env_return_2`."""
    first = apart = KEPT_APART + name
    count = 1
    while apart in taken:
        count += 1
        apart = f"{first}_{count}"
    return apart


def warn_once(text: str) -> None:
    """Log a warning, unless this process has done so before."""
    if text not in _warned and len(_warned) < MOST_WARNINGS:
        _warned.add(text)
        log.warning(text)
