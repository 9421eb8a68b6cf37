"""The interquartile mean: as robust as the median, and more precise with few numbers (Agarwal et al., NeurIPS 2021)."""

import numpy as np


def iqm(values: np.ndarray, axis: int | None = None) -> np.ndarray:
    """The mean without the lowest and the highest quarter, ⌊n/4⌋ values each.

    Args:
        values: of any shape.
        axis: along which; None: over all values.
    """
    values = np.asarray(values)
    values = np.moveaxis(values, axis, 0) if axis is not None else values.ravel()
    cut = len(values) // 4
    return np.sort(values, axis=0)[cut : len(values) - cut].mean(axis=0)
