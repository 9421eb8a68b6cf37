"""Normalising values by a running mean and variance (MAPPO, Yu et al. 2022, after PopArt)."""

import math
from typing import Any

import torch as th

from utils.normaliser import Normaliser

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
    def update(self, input_vector: Any) -> None:
        """Take in a batch of values, a tensor or an array `[..., *input_shape]`."""
        values = self._as_tensor(input_vector)
        axes = tuple(range(self.norm_axes))
        past = self.beta ** (math.prod(values.shape[: self.norm_axes]) if self.per_element_update else 1)
        for buffer, seen in (
            (self.running_mean, values.mean(dim=axes)),
            (self.running_mean_sq, values.square().mean(dim=axes)),
            (self.debiasing_term, th.ones_like(self.debiasing_term)),
        ):
            buffer.lerp_(seen.expand_as(buffer), 1 - past)
