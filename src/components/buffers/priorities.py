"""Drawing by priority (Schaul et al. 2016), of whatever has places in a `SumTree`."""

import numpy as np

from components.buffers.sum_tree import SumTree


def drawn_places(tree: SumTree, size: int, held: int, beta: float) -> tuple[np.ndarray, np.ndarray]:
    """`size` places in proportion to their priorities, one in each of as many equal parts of the total.

    Args:
        held: how many places may be drawn.
        beta: power of the weights that make up for priorities.

    Returns:
        places, int64 `[size]`, drawn with replacement; weights of importance sampling, float32 `[size]`, the largest 1.
    """
    places = tree.find((np.arange(size) + np.random.random(size)) / size)
    weights = (tree.priorities[places] * (held / tree.total)) ** -beta
    return places, (weights / weights.max()).astype(np.float32)
