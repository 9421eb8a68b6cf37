"""Sums of priorities, from which numbers are drawn in proportion to them (Schaul et al. 2016, appendix B.2.1)."""

import numpy as np

# children of a node: fewer levels take less time in NumPy than fewer children
FAN_OUT = 32


class SumTree:
    """`size` priorities of 0 or more, and the sums of each `FAN_OUT` of them, level by level.

    Every sum is computed from its parts, so it depends on the priorities only, and not on how they came about.
    """

    def __init__(self, size: int):
        self.size = size
        # of the leaves first, each level padded to whole nodes
        self._levels: list[np.ndarray] = []
        while not self._levels or size > 1:
            size = -(-size // FAN_OUT)
            self._levels.append(np.zeros(size * FAN_OUT))
        # the children of each node in a row
        self._children = [level.reshape(-1, FAN_OUT) for level in self._levels]

    @property
    def total(self) -> float:
        return float(self._levels[-1].sum())

    @property
    def priorities(self) -> np.ndarray:
        """Of all, float64 `[size]`: a view."""
        return self._levels[0][: self.size]

    def put(self, places: np.ndarray, priorities: np.ndarray | float) -> None:
        """Give the places, int64 `[k]`, these priorities; of several for one place the last counts."""
        self._levels[0][places] = priorities
        for children, above in zip(self._children, self._levels[1:], strict=False):
            places = places // FAN_OUT
            above[places] = children[places].sum(axis=1)

    def find(self, shares: np.ndarray) -> np.ndarray:
        """The places, int64 `[k]`, in which the cumulative sum of priorities passes `shares` `[k]` of the total.

        Shares are in [0, 1). A place of priority 0 is never found while the total is above 0.
        """
        rest, nodes = shares * self.total, np.zeros(len(shares), dtype=np.int64)
        for children in reversed(self._children):
            sums = children[nodes]
            passed = np.cumsum(sums, axis=1)
            # rounding may leave a rest as large as the sum: then it is the last child above 0
            last = FAN_OUT - 1 - (sums[:, ::-1] > 0).argmax(axis=1)
            child = np.minimum((passed <= rest[:, None]).sum(axis=1), last)
            row = np.arange(len(nodes))
            rest = rest - (passed[row, child] - sums[row, child])
            nodes = nodes * FAN_OUT + child
        return nodes
