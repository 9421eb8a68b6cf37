"""Input features in units of their deviation from their mean over everything seen (Chan et al. 1979)."""

import torch as th

from utils.numbers.running_statistics import Normaliser


class InputNorm(Normaliser):
    """Running mean and deviation of features; normalised ones are kept between -`clip` and `clip`.

    Only `take_in` moves the statistics: rogue-net's layer moves them in every forward pass, evaluation included. Until
    two rows were seen, features are only clipped. A feature that never varied is divided by 1.

    Buffers: `count` float32 [], rows seen; `mean` and `squares_sum` float32 `[features]`, the latter of deviations from
    the mean.
    """

    def __init__(self, features: int, clip: float = 5.0):
        super().__init__(clip)
        self.register_buffer("count", th.tensor(0.0))
        self.register_buffer("mean", th.zeros(features))
        self.register_buffer("squares_sum", th.zeros(features))

    @th.no_grad()
    def take_in(self, x: th.Tensor) -> None:
        """Move the statistics by rows `[rows, features]`."""
        rows = x.shape[0]
        if rows == 0:
            return
        mean = x.mean(0)
        squares_sum = (x - mean).square().sum(0)
        total = self.count + rows
        delta = mean - self.mean
        self.mean += delta * (rows / total)
        self.squares_sum += squares_sum + delta.square() * (rows * self.count / total)
        self.count.copy_(total)

    def running_mean_var(self) -> tuple[th.Tensor, th.Tensor]:
        var = self.squares_sum / (self.count - 1).clamp(min=1)
        var = th.where(var == 0, 1, var)
        seen = self.count > 1
        return th.where(seen, self.mean, 0), th.where(seen, var, 1)

    @th.no_grad()
    def forward(self, x: th.Tensor) -> th.Tensor:
        """Normalised features, of the same shape and without gradient."""
        return self.normalize(x)
