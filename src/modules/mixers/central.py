"""The central value of weighted QMIX (Rashid et al. 2020)."""

import numpy as np
import torch as th
import torch.nn as nn

from modules.fast_linear import FastLinear


class CentralMixer(nn.Module):
    """Q*(s, u) = f(s, Q_1, ..., Q_n) + V(s): any function of the agents' values, not only monotonic ones (section 5).

    f has three hidden layers and V one, of `central_mixing_embed_dim` units each.
    """

    def __init__(self, args):
        super().__init__()
        self.state_dim = int(np.prod(args.state_shape))
        in_dim, hidden = self.state_dim + args.n_agents, args.central_mixing_embed_dim
        layers: list[nn.Module] = []
        for width in (in_dim, hidden, hidden):
            layers += [FastLinear(width, hidden), nn.ReLU()]
        self.net = nn.Sequential(*layers, FastLinear(hidden, 1))
        self.V = nn.Sequential(FastLinear(self.state_dim, hidden), nn.ReLU(), FastLinear(hidden, 1))

    def forward(self, agent_qs: th.Tensor, states: th.Tensor) -> th.Tensor:
        """Values `[B, T, n]` and states `[B, T, S]` -> `[B, T, 1]`."""
        states = states.reshape(*agent_qs.shape[:2], self.state_dim)
        return self.net(th.cat([states, agent_qs], dim=2)) + self.V(states)
