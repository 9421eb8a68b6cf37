"""How environments of packages and of users are made: their arguments, and the one that limits episodes."""

import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

# arguments that are the most steps of an episode, in the packages' words
LIMITS = ("max_steps", "time_limit", "episode_length")


class Package(NamedTuple):
    """How a package's environment is made.

    Attributes:
        make: of keyword arguments.
        known: names of arguments that it takes; None: anything.
        limit_word: its argument that is the most steps of an episode; "": it has none.
        limit: the most steps unless the user says otherwise; 0: the package has none.
    """

    make: Callable[..., Any]
    known: tuple[str, ...] | None
    limit_word: str
    limit: int


def limit_of(env: Any) -> int:
    """The most steps of an episode, as an environment has them; 0: it does not say."""
    return next((int(value) for name in LIMITS if isinstance(value := getattr(env, name, None), int)), 0)


def described(make: Callable[..., Any], limit: int = 0) -> Package:
    """A class or a function, by its parameters; of a class that passes any on, also those of its bases."""
    known: dict[str, Any] = {}
    makers: list[Any] = [make]
    if isinstance(make, type):
        makers = [vars(kind)["__init__"] for kind in make.__mro__[:-1] if "__init__" in vars(kind)]
    anything = bool(makers)
    for maker in makers:
        parameters = {name: one for name, one in inspect.signature(maker).parameters.items() if name != "self"}
        known |= {
            name: one for name, one in parameters.items() if one.kind in (one.POSITIONAL_OR_KEYWORD, one.KEYWORD_ONLY)
        }
        if not any(one.kind is one.VAR_KEYWORD for one in parameters.values()):
            anything = False
            break
    word = next((name for name in LIMITS if name in known), "")
    return Package(make, None if anything else tuple(known), word, limit)
