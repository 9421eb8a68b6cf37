"""The permitted values of a config, and safe quotation of any value in a message."""

from collections.abc import Mapping
from typing import Any

LARGEST_NUMBER = 2**63 - 1
LONGEST_KEY = 200
DEEPEST = 32
# Sacred's serialiser would make Python objects of mappings with such keys, and call the functions that they name
RESERVED_KEYS = ("py/", "json://")


def problem_of_key(key: Any) -> str | None:
    """The problem of a key, or None: Sacred stores no key with a dot, and terminals obey control characters."""
    if not isinstance(key, str):
        return f"the key {quoted(key)} is not a string"
    if not key.isprintable() or len(key) > LONGEST_KEY:
        return f"the key {quoted(key)} is longer than {LONGEST_KEY} characters, or has some that cannot be shown"
    if not key or key.startswith(("$", *RESERVED_KEYS)) or any(character in key for character in ".="):
        return f"the key '{key}' is empty, has a '.' or '=' in it, or starts with '$', 'py/' or 'json://'"
    return None


def problem_of(value: Any, depth: int = 0) -> str | None:
    """The problem of a value of a config, or of one with its key; None if it is plain.

    Plain are numbers of 64 bits, text, True, False, None, and lists and mappings of such.
    """
    if depth > DEEPEST:
        return f"it is nested more than {DEEPEST} deep"
    if isinstance(value, Mapping):
        for key, inner in value.items():
            if problem := problem_of_key(key):
                return problem
            if problem := problem_of(inner, depth + 1):
                return problem if depth else f"{key}: {problem}"
        return None
    if isinstance(value, list | tuple):
        return next(filter(None, (problem_of(inner, depth + 1) for inner in value)), None)
    if type(value) is int and not -LARGEST_NUMBER <= value + (value < 0) <= LARGEST_NUMBER:
        return f"the number {quoted(value)} has more than 64 bits"
    if value is None or type(value) in (bool, int, float, str):
        return None
    return f"{quoted(value)} is a {type(value).__name__}, and neither text (in quotes), a number nor a list or mapping"


def quoted(value: Any, longest: int = 80) -> str:
    """`value` for a message: on one line, not too long, and nothing in it that a terminal obeys."""
    try:
        text = value if isinstance(value, str) and value.isprintable() else repr(value)
    except ValueError:  # Python does not write out very large numbers
        text = f"of {value.bit_length()} bits"
    return text if len(text) <= longest else f"{text[: longest - 3]}..."


def counted(count: int, noun: str) -> str:
    """A number of things: "1 run", "2 runs"; of nouns whose plural takes an s."""
    return f"{count} {noun}" + ("" if count == 1 else "s")


def escaped(text: str) -> str:
    """`text` with everything that a terminal would obey, except line ends, as `\\x1b` and the like."""
    return "".join(c if c.isprintable() or c == "\n" else repr(c)[1:-1] for c in text)
