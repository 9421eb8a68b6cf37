"""Normalising observations, predictions or rewards by all values so far."""

from typing import Any

import torch as th
import torch.nn as nn

from utils.numbers.normaliser import Normaliser
from utils.numbers.running_moments import merged_moments
from utils.tensors.devices import to_device
from utils.tensors.masked_rows import mean_where
from utils.tensors.recurrence import from_the_end

LEAST_VARIANCE = 1e-8
FIRST_COUNT = 1e-4


class RunningNorm(Normaliser):
    """Normalises by mean and variance of all values taken in, each of the same weight; at first it changes nothing.

    Its buffers `mean` and `var` (float64, `shape`), `count` and `frozen` are its state.

    Args:
        shape: of one value.
        clip: normalised values are kept between -clip and clip; None: as they are.
        first_count: how many values the first mean and variance count as; above 0, `LEAST_VARIANCE` is added to
            variances, as in OpenAI's baselines and Digideep, with 1e-4; 0: they do not count.
    """

    def __init__(self, shape: int | tuple[int, ...] = (), clip: float | None = None, first_count: float = 0.0):
        super().__init__(clip)
        self._first_count = first_count
        self.register_buffer("mean", th.zeros(shape, dtype=th.float64))
        self.register_buffer("var", th.ones(shape, dtype=th.float64))
        self.register_buffer("count", th.full((), first_count, dtype=th.float64))
        self.register_buffer("frozen", th.zeros((), dtype=th.bool))

    def freeze(self, frozen: bool = True) -> None:
        """Take in nothing more, or again."""
        self.frozen.fill_(frozen)

    @th.no_grad()
    def update(self, values: Any, mask: th.Tensor | None = None) -> None:
        """Take in a tensor or an array `[*batch, *shape]`, unless frozen.

        Args:
            mask: `[*batch]`, 0 for values to ignore, such as padding; None: all count.
        """
        rows = self._as_tensor(values).double().reshape(-1, *self.mean.shape)
        if mask is not None:
            mask = to_device(mask, rows.device).flatten() > 0
        if rows.device.type != "cpu":
            self._take_in_where(rows.new_ones(len(rows), dtype=th.bool) if mask is None else mask, rows)
            return
        if mask is not None:
            rows = rows[mask]
        if self.frozen or not len(rows):
            return
        seen = rows.mean(dim=0), rows.var(dim=0, correction=0), len(rows)
        moments = merged_moments((self.mean, self.var, self.count), seen)
        for buffer, moment in zip((self.mean, self.var, self.count), moments, strict=True):
            buffer.copy_(moment)

    def _take_in_where(self, counted: th.Tensor, rows: th.Tensor) -> None:
        """The rows `[N, *shape]` where `counted`, bool `[N]`: a GPU does not say how many they are."""
        number = counted.sum()
        mean = mean_where(counted, rows)
        seen = mean, mean_where(counted, (rows - mean).square()), number
        takes = (number > 0) & ~self.frozen
        moments = merged_moments((self.mean, self.var, self.count), seen)
        for buffer, moment in zip((self.mean, self.var, self.count), moments, strict=True):
            buffer.copy_(th.where(takes, moment, buffer))

    def running_mean_var(self) -> tuple[th.Tensor, th.Tensor]:
        """Mean and variance, float32, each of `shape`."""
        var = self.var + LEAST_VARIANCE if self._first_count else self.var.clamp(min=LEAST_VARIANCE)
        return self.mean.float(), var.float()


class Standardiser(Normaliser):
    """Scales columns by the mean and variance of all values so far (EPyMARL's rewards and returns).

    It starts from mean 0 and variance 1, which weigh as much as `FIRST_COUNT` values, and takes the unbiased variance
    of each batch. Its buffers `mean`, `var` and `count` (float64, `[columns]`) are its state.
    """

    def __init__(self, columns: int):
        super().__init__()
        self.register_buffer("mean", th.zeros(columns, dtype=th.float64))
        self.register_buffer("var", th.ones(columns, dtype=th.float64))
        self.register_buffer("count", th.full((columns,), FIRST_COUNT, dtype=th.float64))

    @th.no_grad()
    def update(self, values: th.Tensor, mask: th.Tensor | None = None) -> None:
        """Take in values `[..., columns]`, all or those where `mask`, `[..., columns or 1]`, is not 0."""
        counted = th.ones_like(values) if mask is None else mask.expand_as(values)
        counted = counted.flatten(0, -2) > 0
        rows = values.double().flatten(0, -2).masked_fill(~counted, 0.0)
        number = counted.sum(dim=0)
        mean = rows.sum(dim=0) / number.clamp(min=1)
        squares = (rows - mean).square().masked_fill(~counted, 0.0).sum(dim=0)
        seen = mean, squares / (number - 1).clamp(min=1), number
        moments = merged_moments((self.mean, self.var, self.count), seen)
        for buffer, moment in zip((self.mean, self.var, self.count), moments, strict=True):
            buffer.copy_(moment)

    def running_mean_var(self) -> tuple[th.Tensor, th.Tensor]:
        """Mean and variance, float32 `[columns]`; the first variance keeps it above 0."""
        return self.mean.float(), self.var.float()


class ReturnScale(nn.Module):
    """Divides rewards by the deviation of discounted returns so far (Engstrom et al. 2020, section 3).

    A return is the discounted sum of an episode's rewards up to a step.

    Args:
        gamma: discount.
        of: "returns", or "rewards": by the deviation of rewards themselves (Digideep).
        clip: the quotients are kept between -clip and clip; None: as they are.
        first_count: of the moments, see `RunningNorm`.
    """

    def __init__(self, gamma: float, of: str = "returns", clip: float | None = None, first_count: float = 0.0):
        super().__init__()
        self._gamma, self._of_returns, self._clip = gamma, of == "returns", clip
        self.moments = RunningNorm(first_count=first_count)

    @th.no_grad()
    def forward(self, rewards: th.Tensor, ended: th.Tensor, mask: th.Tensor, returns: th.Tensor) -> th.Tensor:
        """Rewards `[B, T, k]` in units of the deviation, to which they count.

        Args:
            ended: 1 after the last step of an episode, `[B, T, 1]`.
            mask: 1 where a step was taken, `[B, T, 1 or k]`.
            returns: those in progress before the first step, `[B, k]`; becomes those after the last one.
        """
        seen = self._returns_so_far(rewards, ended, returns)
        self.moments.update(seen if self._of_returns else rewards, mask.expand_as(seen))
        scaled = rewards / self.moments.running_mean_var()[1].sqrt()
        return scaled if self._clip is None else scaled.clamp(-self._clip, self._clip)

    def _returns_so_far(self, rewards: th.Tensor, ended: th.Tensor, returns: th.Tensor) -> th.Tensor:
        """At every step, `[B, T, k]`; see `forward`."""
        if rewards.device.type == "cpu":
            seen = th.empty_like(rewards)
            for t in range(rewards.size(1)):
                returns.mul_(self._gamma).add_(rewards[:, t])
                seen[:, t] = returns
                returns.mul_(1 - ended[:, t])
            return seen
        first = rewards[:, :1] + self._gamma * returns.unsqueeze(1)
        terms, factors = th.cat([first, rewards[:, 1:]], dim=1), self._gamma * (1 - ended[:, :-1])
        seen = from_the_end(factors.flip(1), terms.flip(1)).flip(1)
        returns.copy_(seen[:, -1] * (1 - ended[:, -1]))
        return seen
