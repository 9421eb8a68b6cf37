"""Telling parts of a run that a key of its config has changed."""

from collections.abc import Iterable, Iterator
from types import SimpleNamespace
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
        if args is not None and has_key(args, key):
            put_value(args, key, value)
    for part in parts:
        if hasattr(part, "take_live"):
            part.take_live(key, value)


def has_key(args: SimpleNamespace, key: str) -> bool:
    """Whether a config has this key; `a.b` is the key `b` of the mapping `a`."""
    room, _, name = key.rpartition(".")
    return name in vars(args).get(room, {}) if room else hasattr(args, key)


def value_of(args: SimpleNamespace, key: str) -> Any:
    """The value of a key that a config has."""
    room, _, name = key.rpartition(".")
    return vars(args)[room][name] if room else vars(args)[key]


def put_value(args: SimpleNamespace, key: str, value: Any) -> None:
    """Give a key another value; a mapping that has it is replaced, as other configs may have the same one."""
    room, _, name = key.rpartition(".")
    if room:
        key, value = room, {**vars(args)[room], name: value}
    setattr(args, key, value)
