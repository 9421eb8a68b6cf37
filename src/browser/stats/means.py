"""Means over runs with Student's interval."""

import numpy as np

from browser.stats.aggregates import LEVEL


def mean_and_half(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The means over runs, and half the widths of their 95 % intervals: t(0.975, n - 1) · s / √n, s with n - 1.

    Args:
        values: of R runs at N places; NaN where a run has none [R, N].

    Returns:
        means [N], NaN without a run, and halves [N], NaN with fewer than two.
    """
    from scipy import special  # here: command lines that name bands are read without SciPy

    n = np.isfinite(values).sum(axis=0)
    counted = np.maximum(n, 1)
    center = np.where(n > 0, np.nansum(values, axis=0) / counted, np.nan)
    variance = np.nansum((values - center) ** 2, axis=0) / np.maximum(n - 1, 1)
    quantile = special.stdtrit(np.maximum(n - 1, 1), 0.5 + LEVEL / 2)  # Student's t; scipy.stats imports for a second
    return center, np.where(n > 1, quantile * np.sqrt(variance / counted), np.nan)
