"""Mean and variance of everything seen so far, batch by batch."""

from typing import Any


class RunningMoments:
    """`mean`, `var` and `count` of what was seen, merged by the parallel formula (Chan et al. 1983).

    Works on arrays and tensors alike.

    Args:
        mean, var: before anything was seen, zeros and ones of one shape.
        count: how much these two weigh, a small number of rows.
    """

    def __init__(self, mean: Any, var: Any, count: float):
        self.mean, self.var, self.count = mean, var, count

    def update_from_moments(self, batch_mean: Any, batch_var: Any, batch_count: int) -> None:
        """Take in `batch_count` rows of this mean and variance."""
        share = batch_count / (self.count + batch_count)
        distance = batch_mean - self.mean
        # the variance within both parts, and that between their means
        self.var = (1 - share) * self.var + share * batch_var + share * (1 - share) * distance**2
        self.mean = self.mean + share * distance
        self.count += batch_count

    def state_dict(self) -> dict[str, Any]:
        """What was seen so far."""
        return {"mean": self.mean, "var": self.var, "count": self.count}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from where `state_dict` was taken."""
        self.mean, self.var, self.count = state["mean"], state["var"], state["count"]
