"""Action values by batch renormalisation, without target networks (CrossQ, Bhatt et al. 2024)."""

from itertools import pairwise
from typing import Any

import torch as th
import torch.nn as nn
import torch.nn.functional as F

from modules.critics.action_values import ActionValueCritic, Field, StackedWeights

# of variances before their root, and the share of a batch in running moments (CrossQ's)
EPSILON, SHARE = 1e-3, 0.01
# how far a batch's deviation and mean may be from the running ones (Ioffe 2017, section 4.2), and the batches before
LARGEST_RATIO, LARGEST_SHIFT, WARM_UP = 3.0, 5.0, 100_000


class BatchRenorm(nn.Module):
    """Batch renormalisation (Ioffe 2017) over the last but one axis of `[*lead, N, F]`, with a scale and a shift.

    In learning, values are normalised by the moments of their batch, as in batch normalisation, and after `WARM_UP`
    batches corrected towards the running moments, by which they are normalised otherwise.

    Args:
        shape: `[*lead, 1, F]`, of moments.
    """

    mean: th.Tensor
    variance: th.Tensor
    batches: th.Tensor

    def __init__(self, *shape: int):
        super().__init__()
        self.scale, self.shift = nn.Parameter(th.ones(shape)), nn.Parameter(th.zeros(shape))
        self.register_buffer("mean", th.zeros(shape))
        self.register_buffer("variance", th.ones(shape))
        self.register_buffer("batches", th.zeros(()))

    def forward(self, x: th.Tensor, of: slice = slice(None)) -> th.Tensor:
        """By running moments; `of` are the rows of the first axis that `x` is of."""
        deviation = (self.variance[of] + EPSILON).sqrt()
        return (x - self.mean[of]) / deviation * self.scale[of] + self.shift[of]

    def learning(self, x: th.Tensor, counted: th.Tensor) -> th.Tensor:
        """By the moments of the batch, which the running ones follow.

        Args:
            counted: 1 for rows that moments are of, `[*lead or 1, N, 1]`.
        """
        number = counted.sum(dim=-2, keepdim=True).clamp(min=1)
        mean = (x * counted).sum(dim=-2, keepdim=True) / number
        variance = ((x - mean).square() * counted).sum(dim=-2, keepdim=True) / number
        deviation = (variance + EPSILON).sqrt()
        with th.no_grad():
            running = (self.variance + EPSILON).sqrt()
            warm = self.batches >= WARM_UP
            ratio = th.where(warm, (deviation / running).clamp(1 / LARGEST_RATIO, LARGEST_RATIO), 1.0)
            shift = th.where(warm, ((mean - self.mean) / running).clamp(-LARGEST_SHIFT, LARGEST_SHIFT), 0.0)
            self.mean.lerp_(mean, SHARE)
            self.variance.lerp_(variance, SHARE)
            self.batches += 1
        return ((x - mean) / deviation * ratio + shift) * self.scale + self.shift


class NormalisedLayers(StackedWeights):
    """As `Layers`, whose inputs and hidden layers are normalised by `BatchRenorm`."""

    def __init__(self, sizes: list[int], estimates: int, sets: int, last_range: float | None):
        super().__init__(sizes, estimates, sets, last_range)
        shapes = [(1 if number == 0 else estimates, sets, 1, size) for number, (size, _) in enumerate(pairwise(sizes))]
        self.norms: Any = nn.ModuleList(BatchRenorm(*shape) for shape in shapes)

    def forward(self, x: th.Tensor, estimates: slice = slice(None)) -> th.Tensor:
        """See `Layers.forward`; by running moments."""
        return self._through(x, estimates, None)

    def learning(self, x: th.Tensor, counted: th.Tensor) -> th.Tensor:
        """`[sets, N, inputs]` -> `[E, sets, N, outputs]`, by the moments of the rows `counted`, `[sets, N, 1]`."""
        return self._through(x, slice(None), counted.unsqueeze(0))

    def _through(self, x: th.Tensor, estimates: slice, counted: th.Tensor | None) -> th.Tensor:
        x = x.unsqueeze(0)
        for number, (norm, weight, bias) in enumerate(zip(self.norms, self.weights, self.biases, strict=True)):
            of = estimates if number else slice(None)
            x = norm(x, of) if counted is None else norm.learning(x, counted)
            x = x @ weight[estimates] + bias[estimates]
            x = F.relu(x) if number < len(self.weights) - 1 else x
        return x


class NormalisedActionValues(ActionValueCritic):
    """Q of each agent; the values of two successive steps are learned from one batch of both (CrossQ, section 3)."""

    kind_of_layers = NormalisedLayers
    layers: NormalisedLayers

    def of_both(
        self, fields: tuple[Field, Field], taken: tuple[th.Tensor, th.Tensor], mask: th.Tensor
    ) -> tuple[th.Tensor, th.Tensor]:
        """Values at both steps, as `forward` returns them, in learning.

        Args:
            fields: as of `forward`, of each step.
            taken: actions of all agents, `[B, n, K]`, of each step.
            mask: 1 for agents that were there, `[B, n]`.
        """
        x = th.cat([self._inputs(field, actions, actions) for field, actions in zip(fields, taken, strict=True)])
        counted = mask.unsqueeze(-1).repeat(2, 1, 1)
        x, counted = self._by_sets(x), self._by_sets(counted)
        now, following = self._of_agents(self.layers.learning(x, counted)).chunk(2, dim=1)
        return now, following


class CentralNormalisedValues(NormalisedActionValues):
    """The same of the state and the actions of all agents."""

    central = True
