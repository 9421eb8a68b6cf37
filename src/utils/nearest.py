"""The "did you mean" half of an error message."""

import difflib
from collections.abc import Iterable


def nearest(name: str, choices: Iterable[str]) -> str | None:
    """Return the choice most like `name`, or None when none is at least half alike."""
    # a much longer text is like no name, which takes difflib long to find out
    matches = difflib.get_close_matches(str(name)[:200], [str(c) for c in choices], n=1, cutoff=0.5)
    return matches[0] if matches else None


def did_you_mean(name: str, choices: Iterable[str]) -> str:
    """Return " Did you mean '...'?", or nothing when no choice is like `name`."""
    best = nearest(name, choices)
    return f" Did you mean '{best}'?" if best else ""


def suggestion(name: str, choices: Iterable[str], limit: int | None = None, rest: str = "") -> str:
    """Return the end of a message: the nearest choice first, then all choices.

    Args:
        limit: how many of the choices to name, where there may be thousands of them; None: all.
        rest: where the others are listed, if not all are named.
    """
    choices = sorted(str(c) for c in choices)
    hint = did_you_mean(name, choices)
    if not choices:
        return hint + " There is nothing to choose from."
    shown = ", ".join(choices[:limit])
    more = f", and {len(choices) - limit} more{rest}" if limit is not None and len(choices) > limit else ""
    return f"{hint} Allowed: {shown}{more}."
