"""Limits on the shown data of a run: results come from anywhere, and a page must stay small."""

import hashlib
from typing import Any

MOST_CONFIG_KEYS = 2000
MOST_ARTIFACTS = 1000
MOST_SOURCES = 5000
# characters: of an algorithm's or map's name; of other texts; of a config's value; of a traceback
LONGEST_NAME = 200
LONGEST_TEXT = 1000
LONGEST_VALUE = 2000
LONGEST_TRACE = 50_000


def cut(text: str, longest: int = LONGEST_TEXT) -> str:
    """The text, or its beginning and how long it is; halves of characters, which no page can show, are replaced."""
    text = text if len(text) <= longest else f"{text[:longest]}… ({len(text):,} characters)"
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def cut_end(text: str, longest: int) -> str:
    """The text, or its end: what a traceback comes to stands there."""
    text = text if len(text) <= longest else f"({len(text):,} characters) …{text[-longest:]}"
    return text.encode("utf-8", "replace").decode("utf-8")


def cut_value(value: Any) -> Any:
    """A JSON value; a long one as its text, cut, with a digest, which keeps different values different."""
    if value is None or isinstance(value, bool | float) or (isinstance(value, int) and abs(value) < 2**63):
        return value
    text = value if isinstance(value, str) else str(value)
    if len(text) <= LONGEST_VALUE:
        return cut(text, LONGEST_VALUE) if isinstance(value, int | str) else value
    digest = hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:12]
    return f"{cut(text, LONGEST_VALUE)} (SHA-256 {digest})"
