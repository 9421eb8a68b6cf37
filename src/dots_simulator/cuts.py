"""The first rows of arrays, as views, which are kept as long as the number of rows stays the same."""

from collections.abc import Sequence

import numpy as np


class Cuts:
    """Most turns show as many rows as the turn before, and views take as long to make as small arrays to copy.

    Args:
        arrays: of any shapes, whose first sizes are of rows.
    """

    def __init__(self, arrays: Sequence[np.ndarray]):
        self._arrays, self._count = arrays, -1
        self._views: list[np.ndarray] = []

    def first(self, count: int) -> list[np.ndarray]:
        """Views of the first rows of each array."""
        if count != self._count:
            self._count, self._views = count, [array[:count] for array in self._arrays]
        return self._views
