"""How much of the runs' scores a hyperparameter explains by itself."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

# groups into which the values of a number are divided; each should have a few runs
MOST_BINS = 6
LEAST_IN_BIN = 4


@dataclass(frozen=True)
class Importance:
    """What a key explains.

    Attributes:
        share: of the variance of the scores, from 0 to 1; NaN where the runs are too few to tell.
        trend: Spearman's rank correlation of a number and the score, from -1 to 1; NaN of other values.
        n: runs.
    """

    key: str
    share: float
    trend: float
    n: int


def importance(key: str, values: Sequence[Any], scores: np.ndarray) -> Importance:
    """The correlation ratio of a key's values and the scores, less what chance gives (Kelley's ε²).

    Numbers of many values are divided into groups of as many runs each. Keys that vary together explain the same
    variance, and what two keys do only together is not seen.

    Args:
        values: of R runs; texts, numbers or None.
        scores: float64 [R]; NaN is left out.
    """
    known = np.isfinite(scores)
    scores = np.asarray(scores, dtype=np.float64)[known]
    values = [value for value, there in zip(values, known, strict=True) if there]
    numbers = as_numbers(values)
    groups = _groups(values, numbers)
    trend = np.nan if numbers is None else _spearman(numbers, scores)
    return Importance(key, _epsilon_squared(groups, scores), trend, len(scores))


def as_numbers(values: Sequence[Any]) -> np.ndarray | None:
    """Values as float64 `[R]`; None if any is no finite number of that size. True and False are words."""
    if not values or not all(isinstance(value, int | float) and not isinstance(value, bool) for value in values):
        return None
    try:
        numbers = np.array(values, dtype=np.float64)
    except OverflowError:  # JSON has whole numbers of any size
        return None
    return numbers if np.isfinite(numbers).all() else None


def _groups(values: Sequence[Any], numbers: np.ndarray | None) -> np.ndarray:
    """The group of each run; int64 [R]."""
    if numbers is not None and len(np.unique(numbers)) > MOST_BINS:
        bins = int(np.clip(len(numbers) // LEAST_IN_BIN, 2, MOST_BINS))
        edges = np.unique(np.quantile(numbers, np.linspace(0, 1, bins + 1)[1:-1]))
        return np.searchsorted(edges, numbers, side="right")
    return np.unique([repr(value) for value in values], return_inverse=True)[1]


def _epsilon_squared(groups: np.ndarray, scores: np.ndarray) -> float:
    """(SSB - (k - 1) MSW) / SST, at least 0; k groups."""
    n, k = len(scores), len(np.unique(groups))
    total = float(((scores - scores.mean()) ** 2).sum()) if n else 0.0
    if n - k < 1 or total == 0:
        return np.nan
    counts = np.bincount(groups)
    means = np.bincount(groups, scores) / np.maximum(counts, 1)
    within = float(((scores - means[groups]) ** 2).sum())
    return float(np.clip((total - within - (k - 1) * within / (n - k)) / total, 0.0, 1.0))


def _spearman(numbers: np.ndarray, scores: np.ndarray) -> float:
    x, y = _ranks(numbers), _ranks(scores)
    spread = x.std() * y.std()
    return float(((x - x.mean()) * (y - y.mean())).mean() / spread) if len(x) > 2 and spread else np.nan


def _ranks(values: np.ndarray) -> np.ndarray:
    """From 0; equal values share the mean of their ranks."""
    _, which, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return (last - (counts + 1) / 2)[which]
