"""EPyMARL's path (and spelling) of its running mean and variance."""

import torch as th

from utils.numbers.running_statistics import RunningMoments


class RunningMeanStd(RunningMoments):
    """Running mean and variance of tensors: float32 `mean` and `var` of `shape` on `device`, and `count`."""

    def __init__(self, epsilon: float = 1e-4, shape: tuple[int, ...] = (), device: str | th.device = "cpu"):
        super().__init__(th.zeros(shape, device=device), th.ones(shape, device=device), epsilon)

    def update(self, arr: th.Tensor) -> None:
        """Take in all rows of `arr`, `[..., columns]`; their variance is the unbiased one, 0 of a single row."""
        rows = arr.reshape(-1, arr.size(-1))
        self.update_from_moments(rows.mean(dim=0), rows.var(dim=0, correction=min(1, len(rows) - 1)), len(rows))
