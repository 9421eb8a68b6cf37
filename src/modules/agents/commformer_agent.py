"""MAT on a graph of who hears whom, which is learned (CommFormer, Hu et al. 2024)."""

from collections.abc import Mapping
from typing import Any

import torch as th
import torch.nn as nn

from modules.agents.mat_agent import MATAgent


class CommFormerAgent(MATAgent):
    """`MATAgent`, in whose attention each agent hears itself and those few others to which it has an edge.

    Edges are the same at all times: each agent hears the k = max(1, `sparsity` n) others with the largest weights
    `edges` `[n, n]` (receiver, sender). The gradient of a softmax of weights takes the place of that of this choice.
    Edges have no features.

    Attributes:
        chooses: there are more others than it hears.
        draws_edges: edges are drawn, by weights with Gumbel noise; else they are those with the largest weights.
        draws_always: they are in acting and in all updates.
    """

    draws_edges = draws_always = False

    def __init__(self, input_shape: Mapping[str, tuple[int, ...]], args: Any, action_size: int):
        super().__init__(input_shape, args, action_size)
        self.heard = min(max(1, int(self.args.sparsity * args.n_agents)), args.n_agents - 1)
        self.chooses = self.heard < args.n_agents - 1
        self.edges = nn.Parameter(0.01 * th.randn(args.n_agents, args.n_agents))

    def links(self) -> th.Tensor:
        """Whom each agent hears, 0 or 1, `[n, n]` (receiver, sender), with gradients for `edges`."""
        itself = th.eye(len(self.edges), device=self.edges.device)
        if len(self.edges) == 1:
            return itself
        weights: th.Tensor = self.edges
        if self.draws_edges:
            weights = weights - th.empty_like(weights).exponential_().log()
        shares = weights.masked_fill(itself > 0, -th.inf).softmax(dim=-1)
        heard = th.zeros_like(shares).scatter(-1, shares.topk(self.heard).indices, 1.0)
        return itself + heard + (shares - shares.detach())
