"""Names and colours that both kinds of figures share; needs neither plotly nor matplotlib."""

from collections.abc import Iterator, Sequence

import numpy as np

from browser.reading.curves import AXES
from browser.stats.bands import Band
from utils.colours import OKABE_ITO as PALETTE

# after the seventh line, the same colours again with another dash
DASHES = ("solid", "dash", "dot")
# where lines lie upon one another, or are printed in grey, each has another dash than its neighbours
STAGGERED = ("solid", "dash", "dashdot", "longdash", "longdashdot")

# of a matrix' cells, from the lowest to the highest value; dark text is read on both
MATRIX_COLORS = ("#f5f9fc", "#8fc1e3")

AGGREGATE_TITLES = {
    "iqm": "Interquartile mean",
    "mean": "Mean",
    "median": "Median of maps",
    "optimality_gap": "Optimality gap (lower is better)",
}

_METRIC_TITLES = {
    "test_return_mean": "test return",
    "test_battle_won_mean": "test win rate",
    "return_mean": "return in training",
    "battle_won_mean": "win rate in training",
    "absolute_return_mean": "return, absolute metric",
    "absolute_battle_won_mean": "win rate, absolute metric",
}
# of keys, where they are no words
_WORDS = {
    "ep": "episode",
    "grad": "gradient",
    "td": "TD",
    "q": "Q",
    "kl": "KL",
    "lr": "learning rate",
    "taken": "of taken actions",
    "won": "won share",
}


def metric_title(key: str) -> str:
    """A statistic in words, or its key."""
    return _METRIC_TITLES.get(key, key)


def value_title(key: str) -> str:
    """A statistic as the title of an axis: "Test return"; keys that are no words stay as they are."""
    if key in _METRIC_TITLES:
        return as_title(_METRIC_TITLES[key])
    stem = key.removesuffix("_mean")
    words = [_WORDS.get(word, word) for word in stem.removesuffix("_std").split("_")]
    if not all(word.replace(" ", "").isalnum() for word in words):
        return key
    return as_title(" ".join(words)) + (", standard deviation" if stem.endswith("_std") else "")


def as_title(words: str) -> str:
    """Words with a capital at their beginning."""
    return words[:1].upper() + words[1:]


def in_sentence(title: str) -> str:
    """A title within a sentence: "test return"; abbreviations keep their capitals."""
    return title if title[1:2].isupper() else title[:1].lower() + title[1:]


def is_share(key: str) -> bool:
    """Whether a statistic lies between 0 and 1, the range of its axis.

    An interval after Student's t, or a curve of zeros, would have an axis that means nothing.
    """
    return key.endswith("won_mean")


def lower_is_better(key: str) -> bool:
    """Whether lower values of a statistic are better, judging by its name."""
    return any(word in key.lower() for word in ("loss", "error"))


def axis_title(axis: str) -> str:
    """The unit of an axis, in words."""
    return AXES[axis]


def color(index: int) -> str:
    """The colour of the line with this number."""
    return PALETTE[index % len(PALETTE)]


def numbered(bands: Sequence[Band], order: Sequence[str] = ()) -> Iterator[tuple[int, Band]]:
    """Bands with the numbers of their lines: their label's in `order`, or their own."""
    for index, band in enumerate(bands):
        yield (order.index(band.label) if band.label in order else index), band


def incomplete_stretches(complete: np.ndarray) -> np.ndarray:
    """Positions with missing runs, and their neighbours, for lines to meet; bool [N]."""
    missing = ~complete
    return missing | np.r_[missing[1:], False] | np.r_[False, missing[:-1]]


def dash(index: int) -> str:
    """The dash of the line with this number."""
    return DASHES[index // len(PALETTE) % len(DASHES)]


def staggered_dash(index: int) -> str:
    """The same where neighbours differ; 35 lines in seven colours have no two alike."""
    return STAGGERED[index % len(STAGGERED)]


def runs_title(bands: Sequence[Band]) -> str:
    """How many runs each line of a figure stands for: "n = 5", or by label."""
    if len({band.runs for band in bands}) == 1:
        return f"n = {bands[0].runs}"
    return "n: " + ", ".join(f"{band.label} {band.runs}" for band in bands) if bands else ""
