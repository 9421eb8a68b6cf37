"""Names and colours that both kinds of figures share; needs neither plotly nor matplotlib."""

from collections.abc import Iterator, Sequence

import numpy as np

from browser.reading.curves import AXES
from browser.stats.bands import Band
from utils.colours import OKABE_ITO as PALETTE

# after the seventh line, the same colours again with another dash
DASHES = ("solid", "dash", "dot")

# of a matrix' cells, from the lowest to the highest value; dark text is read on both
MATRIX_COLORS = ("#f5f9fc", "#8fc1e3")

AGGREGATE_TITLES = {
    "iqm": "interquartile mean",
    "mean": "mean",
    "median": "median of maps",
    "optimality_gap": "optimality gap (lower is better)",
}

_METRIC_TITLES = {
    "test_return_mean": "test return",
    "test_battle_won_mean": "test win rate",
    "return_mean": "return in training",
    "battle_won_mean": "win rate in training",
}


def metric_title(key: str) -> str:
    """A statistic in words, or its key."""
    return _METRIC_TITLES.get(key, key)


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
