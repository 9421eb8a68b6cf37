"""Telling parts of a run that a key of its config has changed."""

from collections.abc import Iterable, Iterator
from typing import Any


def parts_that_act(mac: Any) -> Iterator[Any]:
    """A controller, its action selector, and the same of its teams."""
    yield mac
    yield getattr(mac, "action_selector", None)
    for team in getattr(mac, "teams", {}).values():
        yield from parts_that_act(team.mac)


def set_live(parts: Iterable[Any], key: str, value: Any) -> None:
    """Give `key` another value in the `args` of all parts that have it, and call their `take_live(key, value)`."""
    parts = [part for part in parts if part is not None]
    for part in parts:
        args = getattr(part, "args", None)
        if args is not None and hasattr(args, key):
            setattr(args, key, value)
    for part in parts:
        if hasattr(part, "take_live"):
            part.take_live(key, value)
