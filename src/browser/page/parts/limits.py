"""How much a page, or an answer to one, may hold: folders of any size are opened, and what is left out is named."""

import json
from collections.abc import Iterable, Sequence
from typing import Any

# characters of one table or list; a page has about three of them
TABLE = 250_000
# characters of a cell, of a choice in a list, and of a fact
LONGEST_CELL = 300
LONGEST_FACT = 2000
MOST_RUNS = 10_000
MOST_SESSIONS = 200
# names in an address to look up, and sentences on the invalid ones
MOST_ASKED = 50
MOST_MESSAGES = 5
# a request; a choice of ten thousand runs takes a third of it
LARGEST_REQUEST = 2**21


def cell(value: Any) -> Any:
    """A value as a table has it: numbers stay sortable numbers; texts are cut."""
    if value is None or (isinstance(value, int | float) and not isinstance(value, bool)):
        return value
    return short(str(value))


def short(text: str, longest: int = LONGEST_CELL) -> str:
    """The text, or its beginning."""
    return text if len(text) <= longest else f"{text[:longest]}…"


def fitting(items: Iterable[Any], characters: int = TABLE) -> list[Any]:
    """The first items that fit a number of characters together, as JSON."""
    kept = []
    for item in items:
        characters -= len(json.dumps(item, default=str))
        if characters < 0:
            break
        kept.append(item)
    return kept


def left_out(what: str, all_of_them: Sequence[Any], shown: Sequence[Any], which: str = "first") -> str:
    """A sentence on the omitted part, or empty."""
    more = len(all_of_them) - len(shown)
    return f"{more:,} more {what} are left out; the {which} {len(shown):,} are shown." if more > 0 else ""
