"""Normalising values by a running mean and variance (MAPPO, Yu et al. 2022, after PopArt)."""

import math
from typing import Any

import torch as th

from utils.numbers.normaliser import Normaliser
from utils.tensors.masked_rows import mean_where

LEAST_VARIANCE = 1e-2


class ValueNorm(Normaliser):
    """Exponentially weighted mean and variance of values, free of the bias of their start.

    Args:
        input_shape: of one value.
        norm_axes: how many leading axes of a batch are averaged over.
        beta: weight of the past at each update; with `per_element_update`, at each value.
        epsilon: the least total weight that is divided by.
        device: where it computes.
    """

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
        return mean, (self.running_mean_sq / weight - mean**2).clamp(min=LEAST_VARIANCE)

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
