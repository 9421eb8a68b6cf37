"""The score of a run, one number: the page, the reports and the searches all take it from here, so that they agree."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

# a run's score is the mean of so many last values: a single test is noisy
LAST = 5


def score_of(values: "np.ndarray", last: int = LAST) -> float:
    """The mean of the last `last` finite values, or of all if there are fewer; NaN without any."""
    import numpy as np  # what keeps a suite's runs reads LAST only, and has no use for NumPy

    finite = values[np.isfinite(values)][-last:]
    return float(finite.mean()) if len(finite) else np.nan


def score_title(metric: str, last: int = LAST) -> str:
    """The score in words: "mean of the last 5 tests", or "last value" of what is no test."""
    noun = value_noun(metric)
    return f"mean of the last {last} {noun}s" if last > 1 else f"last {noun}"


def value_noun(metric: str) -> str:
    """The word for one value of a statistic: "test", or "value" of what is no test."""
    return "test" if metric.startswith("test_") else "value"
