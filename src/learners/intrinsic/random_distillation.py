"""Random network distillation (Burda et al. 2019, "Exploration by Random Network Distillation")."""

from math import prod
from typing import Any

import torch as th
import torch.nn as nn

from learners.intrinsic.rewards import IntrinsicReward
from learners.q_targets import masked_mean
from utils.numbers.running_statistics import RunningNorm
from utils.tensors.schemes import as_seen, observed_fields, seen_shape, state_fields

# normalised inputs are kept between -5 and 5 (section 2.4)
CLIP = 5.0


class RandomDistillation(IntrinsicReward):
    """The squared error of a network that predicts what another one of random weights says of the next state.

    It is large where the network has not learned, which is where agents have not been, and is divided by its running
    deviation. With `intrinsic_sees: obs` each agent has an error of its own observation.
    """

    def __init__(self, scheme: Any, args: Any):
        super().__init__(scheme, args)
        own, common = observed_fields(scheme), state_fields(scheme)
        of_agents = self.args.intrinsic_sees == "obs"
        self._scheme, self._fields = scheme, common if common and not of_agents else own
        # whether all agents have the same
        self._common = not of_agents
        sizes = [prod(seen_shape(scheme[key])) for key in self._fields]
        size = sum(sizes) * (args.n_agents if self._common and self._fields is own else 1)
        width = self.args.intrinsic_hidden_dim
        self.inputs, self.errors = RunningNorm(size, CLIP), RunningNorm()
        self.target = nn.Sequential(nn.Linear(size, width), nn.ReLU(), nn.Linear(width, width)).requires_grad_(False)
        hidden = nn.Linear(size, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU()
        self.predictor = nn.Sequential(*hidden, nn.Linear(width, width))

    def forward(self, batch: Any, mask: th.Tensor) -> tuple[th.Tensor, th.Tensor]:
        """See `IntrinsicReward.forward`."""
        seen = self._next(batch)
        counted = mask.amax(dim=2, keepdim=True) if self._common else mask
        self.inputs.update(seen, counted)
        seen = self.inputs.normalize(seen)
        errors = (self.predictor(seen) - self.target(seen)).square().mean(dim=-1)
        found = errors.detach()
        self.errors.update(found, counted)
        _, variance = self.errors.running_mean_var()
        return (found / variance.sqrt()).expand_as(mask), masked_mean(errors, counted)

    def _next(self, batch: Any) -> th.Tensor:
        """What follows each transition, `[B, T, n or 1, I]`."""
        axes = 2 if self._common else 3
        parts = [as_seen(self._scheme[key], batch[key][:, 1:]).flatten(axes) for key in self._fields]
        seen = th.cat(parts, dim=-1)
        return seen.unsqueeze(2) if self._common else seen
