"""Texts of images that fit into their places: names in several lines, and letters as small as they must be."""

import re
from typing import Any

from matplotlib import rcParams
from matplotlib.font_manager import FontProperties

# of an inch
POINTS = 72
# how wide a letter is, as a share of how high it is
_LETTER = 0.5
# behind these signs a name may be divided
_BREAKS = re.compile(r"(?<=[/:_\-\s])")


def points(size: str) -> float:
    """A size of letters by the name of its setting, or by its word."""
    known: Any = rcParams
    return FontProperties(size=known.get(size, size)).get_size_in_points()


def wrapped(text: str, inches: float, size: str) -> str:
    """A name in lines that are as wide as this at most, where it has signs to divide it at."""
    most = max(1, int(inches * POINTS / (_LETTER * points(size))))
    lines = [""]
    for part in _BREAKS.split(text):
        if len(lines[-1] + part.rstrip()) <= most or not lines[-1]:
            lines[-1] += part
        else:
            lines.append(part)
    return "\n".join(line.rstrip() for line in lines)


def fitting(texts: list[str], inches: float, size: str) -> float:
    """The size, in points, of letters in which the longest line of some texts is as wide as this; at most `size`."""
    longest = max((len(line) for text in texts for line in text.split("\n")), default=1)
    return min(points(size), inches * POINTS / (_LETTER * max(1, longest)))
