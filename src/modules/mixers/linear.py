"""The linear mixer of DOP (Wang et al. 2021)."""

import numpy as np
import torch as th
import torch.nn as nn

from modules.mixers import REGISTRY
from modules.mixers.heads import mlp
from utils.config.merging import with_defaults


class LinearMixer(nn.Module):
    """Q_tot(s, u) = sum_i k_i(s) Q_i + b(s), k_i(s) = |f_i(s)| >= 0.

    S = state size, n = agents. f and b are networks of one hidden layer of `hypernet_embed` units. Linear in the
    agents' values: the expected value of the team is the mixed value of theirs.
    """

    def __init__(self, args):
        super().__init__()
        args = with_defaults(args, REGISTRY.defaults_of(type(self)))
        self.state_dim = int(np.prod(args.state_shape))
        self.hyper_k = mlp(self.state_dim, args.hypernet_embed, 2, args.n_agents)
        self.hyper_b = mlp(self.state_dim, args.hypernet_embed, 2, 1)

    def forward(self, agent_qs: th.Tensor, states: th.Tensor) -> th.Tensor:
        """Values `[B, T, n]` and states `[B, T, S]` -> Q_tot `[B, T, 1]`."""
        states = states.reshape(*agent_qs.shape[:2], self.state_dim)
        return (self.k(states) * agent_qs).sum(dim=2, keepdim=True) + self.hyper_b(states)

    def k(self, states: th.Tensor) -> th.Tensor:
        """How much each agent's value counts: states `[B, T, S]` -> `[B, T, n]`."""
        return self.hyper_k(states.reshape(*states.shape[:2], self.state_dim)).abs()
