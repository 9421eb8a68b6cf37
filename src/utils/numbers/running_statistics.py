"""Running means and variances: plain ones of arrays and tensors, and normalisers that scale values by them."""

import math
from typing import Any

import numpy as np
import torch as th
import torch.nn as nn

from utils.tensors.captured import capturing
from utils.tensors.devices import to_device
from utils.tensors.masked_rows import mean_where
from utils.tensors.recurrence import from_the_end

Moments = tuple[Any, Any, Any]  # mean, variance, how many
# variances are at least this, or larger by this
LEAST_VARIANCE, LEAST_VALUE_VARIANCE = 1e-8, 1e-2
# how many values the first mean and variance of a `Standardiser` count as
FIRST_COUNT = 1e-4


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
        return {"mean": self.mean, "var": self.var, "count": self.count}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.mean, self.var, self.count = state["mean"], state["var"], state["count"]


class RunningMeanStd(RunningMoments):
    """PyMARL2's running mean and variance of NumPy rows: float64 `mean` and `var` of `shape`, and `count`."""

    def __init__(self, epsilon: float = 1e-4, shape: tuple[int, ...] = ()):
        super().__init__(np.zeros(shape), np.ones(shape), epsilon)

    def update(self, x: np.ndarray) -> None:
        """Take in the rows of `x`, `[rows, *shape]`; their variance is that of a population."""
        self.update_from_moments(np.mean(x, axis=0), np.var(x, axis=0), len(x))


class Normaliser(nn.Module):
    """Scales values by a running mean and variance, which a subclass keeps in buffers.

    Args:
        clip: normalised values are kept between -clip and clip; None: as they are.
    """

    # as in torch, but all of them are there
    _buffers: Any

    def __init__(self, clip: float | None = None):
        super().__init__()
        self.clip = clip
        # the buffers' versions, and the mean and deviation that they gave
        self._scale_of: tuple[Any, tuple[th.Tensor, th.Tensor] | None] = (None, None)

    def running_mean_var(self) -> tuple[th.Tensor, th.Tensor]:
        """Mean and variance of one value; the variance is above 0."""
        raise NotImplementedError(f"{type(self).__name__} does not define running_mean_var()")

    def normalize(self, input_vector: Any) -> th.Tensor:
        """Values in units of the deviation from the mean: float32, of the same shape."""
        mean, deviation = self._scale()
        normalised = (self._as_tensor(input_vector) - mean) / deviation
        return normalised if self.clip is None else normalised.clamp(-self.clip, self.clip)

    def normalize_into(self, values: np.ndarray, out: np.ndarray) -> None:
        """Write `normalize` of float32 values into such an array, on the CPU, where NumPy is faster with few values."""
        mean, deviation = self._scale()
        np.subtract(values, mean.numpy(), out=out)
        np.divide(out, deviation.numpy(), out=out)
        if self.clip is not None:
            np.minimum(np.maximum(out, -self.clip, out=out), self.clip, out=out)

    def denormalize(self, input_vector: Any) -> th.Tensor:
        """The inverse of `normalize`, except for clipping."""
        mean, deviation = self._scale()
        return self._as_tensor(input_vector) * deviation + mean

    def changed(self) -> None:
        """A captured graph changed the buffers, which their versions do not show."""
        self._scale_of = (None, None)

    def _scale(self) -> tuple[th.Tensor, th.Tensor]:
        """Mean and deviation; computed when the buffers have changed, as acting asks at every step."""
        if capturing():  # a graph computes them at each replay, and keeps them to itself
            mean, var = self.running_mean_var()
            return mean, var.sqrt()
        version = [(buffer._version, buffer.device) for buffer in self._buffers.values()]
        known, scale = self._scale_of
        if scale is None or version != known:
            mean, var = self.running_mean_var()
            scale = mean, var.sqrt()
            self._scale_of = version, scale
        return scale

    def _as_tensor(self, values: Any) -> th.Tensor:
        """A tensor or an array as float32, where the buffers are."""
        values = th.from_numpy(values) if isinstance(values, np.ndarray) else values
        return to_device(values, next(iter(self._buffers.values())).device).to(th.float32)


class _OfAllValues(Normaliser):
    """Keeps `mean` and `var` (float64, `shape`) and `count` (float64) of all values, each of the same weight."""

    mean: th.Tensor
    var: th.Tensor
    count: th.Tensor

    def __init__(self, shape: int | tuple[int, ...], clip: float | None, count: th.Tensor):
        super().__init__(clip)
        self.register_buffer("mean", th.zeros(shape, dtype=th.float64))
        self.register_buffer("var", th.ones(shape, dtype=th.float64))
        self.register_buffer("count", count)

    def _merged(self, seen: Moments) -> list[tuple[th.Tensor, th.Tensor]]:
        """The buffers, each with its value after `seen` was taken in."""
        buffers = self.mean, self.var, self.count
        return list(zip(buffers, merged_moments(buffers, seen), strict=True))


class RunningNorm(_OfAllValues):
    """Normalises by mean and variance of all values taken in; at first it changes nothing.

    Args:
        shape: of one value.
        clip: normalised values are kept between -clip and clip; None: as they are.
        first_count: how many values the first mean and variance count as; above 0, `LEAST_VARIANCE` is added to
            variances, as in OpenAI's baselines and Digideep, with 1e-4; 0: they do not count.
    """

    frozen: th.Tensor

    def __init__(self, shape: int | tuple[int, ...] = (), clip: float | None = None, first_count: float = 0.0):
        super().__init__(shape, clip, th.full((), first_count, dtype=th.float64))
        self._first_count = first_count
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
        for buffer, moment in self._merged((rows.mean(dim=0), rows.var(dim=0, correction=0), len(rows))):
            buffer.copy_(moment)

    def _take_in_where(self, counted: th.Tensor, rows: th.Tensor) -> None:
        """The rows `[N, *shape]` where `counted`, bool `[N]`: a GPU does not say how many they are."""
        number = counted.sum()
        mean = mean_where(counted, rows)
        takes = (number > 0) & ~self.frozen
        for buffer, moment in self._merged((mean, mean_where(counted, (rows - mean).square()), number)):
            buffer.copy_(th.where(takes, moment, buffer))

    def running_mean_var(self) -> tuple[th.Tensor, th.Tensor]:
        """Mean and variance, float32, each of `shape`."""
        var = self.var + LEAST_VARIANCE if self._first_count else self.var.clamp(min=LEAST_VARIANCE)
        return self.mean.float(), var.float()


class Standardiser(_OfAllValues):
    """Scales columns by the mean and variance of all values so far (EPyMARL's rewards and returns).

    It starts from mean 0 and variance 1, which weigh as much as `FIRST_COUNT` values, and takes the unbiased variance
    of each batch. Every column has a `count` of its own.
    """

    def __init__(self, columns: int):
        super().__init__(columns, None, th.full((columns,), FIRST_COUNT, dtype=th.float64))

    @th.no_grad()
    def update(self, values: th.Tensor, mask: th.Tensor | None = None) -> None:
        """Take in values `[..., columns]`, all or those where `mask`, `[..., columns or 1]`, is not 0."""
        counted = th.ones_like(values) if mask is None else mask.expand_as(values)
        counted = counted.flatten(0, -2) > 0
        rows = values.double().flatten(0, -2).masked_fill(~counted, 0.0)
        number = counted.sum(dim=0)
        mean = rows.sum(dim=0) / number.clamp(min=1)
        squares = (rows - mean).square().masked_fill(~counted, 0.0).sum(dim=0)
        for buffer, moment in self._merged((mean, squares / (number - 1).clamp(min=1), number)):
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


class ValueNorm(Normaliser):
    """Exponentially weighted mean and variance of values, free of the bias of their start (MAPPO, Yu et al. 2022).

    Args:
        input_shape: of one value.
        norm_axes: how many leading axes of a batch are averaged over.
        beta: weight of the past at each update; with `per_element_update`, at each value.
        epsilon: the least total weight that is divided by.
        device: where it computes.
    """

    running_mean: th.Tensor
    running_mean_sq: th.Tensor
    debiasing_term: th.Tensor

    def __init__(
        self,
        input_shape: int | tuple[int, ...],
        norm_axes: int = 1,
        beta: float = 0.99999,
        per_element_update: bool = False,
        epsilon: float = 1e-5,
        device: str | th.device = "cpu",
    ):
        super().__init__()
        self.norm_axes, self.beta, self.epsilon = norm_axes, beta, epsilon
        self.per_element_update = per_element_update
        # the sums of the weighted values, of their squares, and of the weights
        self.register_buffer("running_mean", th.zeros(input_shape, device=device))
        self.register_buffer("running_mean_sq", th.zeros(input_shape, device=device))
        self.register_buffer("debiasing_term", th.zeros((), device=device))

    def reset_parameters(self) -> None:
        """Forget all values."""
        for buffer in self.buffers():
            buffer.zero_()

    def running_mean_var(self) -> tuple[th.Tensor, th.Tensor]:
        """Mean and variance (at least 0.01), each of `input_shape`."""
        weight = self.debiasing_term.clamp(min=self.epsilon)
        mean = self.running_mean / weight
        return mean, (self.running_mean_sq / weight - mean**2).clamp(min=LEAST_VALUE_VARIANCE)

    @th.no_grad()
    def update(self, input_vector: Any, mask: th.Tensor | None = None) -> None:
        """Take in a batch of values, a tensor or an array `[..., *input_shape]`.

        Args:
            mask: of the axes that are averaged over, 0 for values to ignore; None: all count.
        """
        values, axes = self._as_tensor(input_vector), tuple(range(self.norm_axes))
        if mask is not None and values.device.type != "cpu":
            self._take_in_where(mask.flatten() > 0, values.flatten(0, mask.dim() - 1))
            return
        if mask is not None:
            values, axes = values[mask > 0], (0,)
            if not len(values):
                return
        past = self.beta ** (math.prod(values.shape[: len(axes)]) if self.per_element_update else 1)
        self._move(values.mean(dim=axes), values.square().mean(dim=axes), 1 - past)

    def _take_in_where(self, counted: th.Tensor, rows: th.Tensor) -> None:
        """The rows `[N, *input_shape]` where `counted`, bool `[N]`: a GPU does not say how many they are."""
        number = counted.sum()
        past = self.beta**number if self.per_element_update else self.beta
        weight = th.where(number > 0, 1 - past, 0.0).to(rows.dtype)
        self._move(mean_where(counted, rows), mean_where(counted, rows.square()), weight)

    def _move(self, mean: th.Tensor, mean_sq: th.Tensor, weight: float | th.Tensor) -> None:
        for buffer, seen in (
            (self.running_mean, mean),
            (self.running_mean_sq, mean_sq),
            (self.debiasing_term, th.ones_like(self.debiasing_term)),
        ):
            buffer.lerp_(seen.expand_as(buffer), weight)
