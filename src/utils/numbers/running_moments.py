"""Mean and variance of everything seen so far, batch by batch."""

from typing import Any

import numpy as np

Moments = tuple[Any, Any, Any]  # mean, variance of a population, how many


def merged_moments(past: Moments, seen: Moments) -> Moments:
    """Moments of two samples together, by the parallel formula (Chan et al. 1983); of arrays and tensors alike."""
    (mean, var, count), (seen_mean, seen_var, seen_count) = past, seen
    share = seen_count / (count + seen_count)
    distance = seen_mean - mean
    # the variance within both parts, and that between their means
    var = (1 - share) * var + share * seen_var + share * (1 - share) * distance**2
    return mean + share * distance, var, count + seen_count


class RunningMoments:
    """`mean`, `var` and `count` of all values so far: arrays or tensors.

    Args:
        mean, var: before anything was seen, zeros and ones of one shape.
        count: how much these two weigh, a small number of rows.
    """

    def __init__(self, mean: Any, var: Any, count: float):
        self.mean, self.var, self.count = mean, var, count

    def update_from_moments(self, batch_mean: Any, batch_var: Any, batch_count: int) -> None:
        """Take in `batch_count` rows of this mean and variance."""
        past, seen = (self.mean, self.var, self.count), (batch_mean, batch_var, batch_count)
        self.mean, self.var, self.count = merged_moments(past, seen)

    def state_dict(self) -> dict[str, Any]:
        """The moments so far."""
        return {"mean": self.mean, "var": self.var, "count": self.count}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from where `state_dict` was taken."""
        self.mean, self.var, self.count = state["mean"], state["var"], state["count"]


class RunningMeanStd(RunningMoments):
    """PyMARL2's running mean and variance of NumPy rows: float64 `mean` and `var` of `shape`, and `count`."""

    def __init__(self, epsilon: float = 1e-4, shape: tuple[int, ...] = ()):
        super().__init__(np.zeros(shape), np.ones(shape), epsilon)

    def update(self, x: np.ndarray) -> None:
        """Take in the rows of `x`, `[rows, *shape]`; their variance is that of a population."""
        self.update_from_moments(np.mean(x, axis=0), np.var(x, axis=0), len(x))
