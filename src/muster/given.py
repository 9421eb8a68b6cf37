"""Classes, functions and objects that a caller passes, under names that a config can have.

What can be imported by a name has that one, "module:Name". Anything else, such as a class of a notebook, is an
attribute of this module until the process ends: "muster.given:Name".
"""

import sys
from collections.abc import Callable
from typing import Any

from checks.registries import REGISTRIES
from utils.config.registry import Entry, Registry, loaded

_given: dict[str, Any] = {}


def __getattr__(name: str) -> Any:
    if name in _given:
        return _given[name]
    raise AttributeError(
        f"nothing of the name {name} was given to this process; a run that names it is resumed where its code is"
    )


def name_of(thing: Any) -> str:
    """The name of a class, a function or an object, for a config."""
    return _importable(thing) or f"{__name__}:{kept(thing)}"


def kept(thing: Any) -> str:
    """Keep a thing under a name of its own. One that was defined again, as in a notebook, replaces the first."""
    wanted = getattr(thing, "__name__", type(thing).__name__)
    wanted = wanted if wanted.isidentifier() else "function"
    name, number = wanted, 1
    while name in _given and _given[name] is not thing and not _is_again(thing, _given[name]):
        number += 1
        name = f"{wanted}_{number}"
    _given[name] = thing
    return name


def registered(kind: str, part: Callable[..., Any]) -> str:
    """The name of a class or factory in the registry of its kind, in which it is entered if it is not there.

    A subclass of a built-in part has that one's options and traits; of any other part nothing is known, as of PyMARL's.

    Args:
        kind: a key of `checks.registries.REGISTRIES`, such as "learner".

    """
    registry = REGISTRIES[kind]
    for name in registry:
        if _is_target(registry.entry(name), part):
            return name
    name = wanted = getattr(part, "__name__", type(part).__name__)
    number = 1
    while name in registry and not _is_again(part, registry.entry(name).target):
        number += 1
        name = f"{wanted}_{number}"
    text = (getattr(part, "__doc__", None) or "").strip().split("\n")[0]
    if (known := _ancestor(registry, part)) is not None:
        registry.declare(name, part, text, options=known.options, **known.traits)
    else:
        registry[name] = part
    return name


def _ancestor(registry: Registry, part: Any) -> Entry | None:
    """The entry of the nearest class that it derives from."""
    for ancestor in getattr(part, "__mro__", ())[1:]:
        for name in registry:
            if registry.entry(name).declared and _is_target(registry.entry(name), ancestor):
                return registry.entry(name)
    return None


def _is_target(entry: Entry, part: Any) -> bool:
    if not isinstance(entry.target, str):
        return entry.target is part
    module, _, name = entry.target.partition(":")
    return name == getattr(part, "__name__", None) and module in sys.modules and loaded(entry.target) is part


def _importable(thing: Any) -> str | None:
    module, name = getattr(thing, "__module__", None), getattr(thing, "__qualname__", ".")
    if module in (None, "__main__") or not name.isidentifier():
        return None
    found = sys.modules.get(module)
    return f"{module}:{name}" if getattr(found, "__file__", None) and getattr(found, name, None) is thing else None


def _is_again(new: Any, old: Any) -> bool:
    """Whether a class or function is another definition of one: same module, same name."""
    place = getattr(new, "__module__", None), getattr(new, "__qualname__", "<")
    return "<" not in place[1] and place == (getattr(old, "__module__", None), getattr(old, "__qualname__", None))
