"""The emergence of individuality (Jiang & Lu 2021, EOI)."""

from math import prod
from typing import Any

import torch as th
import torch.nn as nn

from learners.intrinsic.rewards import IntrinsicReward
from learners.q_targets import masked_mean
from utils.tensors.schemes import as_seen, observed_fields, seen_shape


class Individuality(IntrinsicReward):
    """p(i | o), the probability that a classifier gives agent i where it sees what i has come to (section 3.1).

    Agents that visit observations of their own are known by them, so their behaviours part. The classifier learns by
    cross-entropy, and less entropy of its answers is more mutual information of agent and observation (section 3.2).
    """

    def __init__(self, scheme: Any, args: Any):
        super().__init__(scheme, args)
        self._scheme, self._fields = scheme, observed_fields(scheme)
        size, width = sum(prod(seen_shape(scheme[key])) for key in self._fields), self.args.intrinsic_hidden_dim
        hidden = nn.Linear(size, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU()
        self.classifier = nn.Sequential(*hidden, nn.Linear(width, args.n_agents))

    def forward(self, batch: Any, mask: th.Tensor) -> tuple[th.Tensor, th.Tensor]:
        """See `IntrinsicReward.forward`."""
        parts = [as_seen(self._scheme[key], batch[key][:, 1:]).flatten(3) for key in self._fields]
        log_probs = self.classifier(th.cat(parts, dim=-1)).log_softmax(dim=-1)
        of_itself = log_probs.diagonal(dim1=-2, dim2=-1)
        entropy = -(log_probs.exp() * log_probs).sum(dim=-1)
        return of_itself.detach().exp(), masked_mean(self.args.eoi_entropy_coef * entropy - of_itself, mask)
