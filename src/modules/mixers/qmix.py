"""QMIX: monotonic value function factorisation (Rashid et al. 2018)."""

import numpy as np
import torch as th
import torch.nn as nn
import torch.nn.functional as F

from modules.mixers import REGISTRY
from utils.config.merging import with_defaults


class QMixer(nn.Module):
    """Q_tot = elu(Q |W1(s)| + b1(s)) |W_final(s)| + V(s), hence dQ_tot / dQ_a >= 0 (eq. 5 and figure 2).

    S = state size, n = agents, E = `mixing_embed_dim`. W1 and W_final come from hypernetworks of
    `hypernet_layers` layers (1, or 2 with `hypernet_embed` hidden units).
    """

    def __init__(self, args):
        super().__init__()
        self.args = args = with_defaults(args, REGISTRY.defaults_of(type(self)))
        self.n_agents = args.n_agents
        self.state_dim = int(np.prod(args.state_shape))
        self.embed_dim = args.mixing_embed_dim

        self.hyper_w_1 = self._hypernet(self.embed_dim * self.n_agents)
        self.hyper_w_final = self._hypernet(self.embed_dim)
        self.hyper_b_1 = nn.Linear(self.state_dim, self.embed_dim)
        # V(s) takes the place of a bias of the last layer
        self.V = nn.Sequential(nn.Linear(self.state_dim, self.embed_dim), nn.ReLU(), nn.Linear(self.embed_dim, 1))

    def _hypernet(self, out_dim: int) -> nn.Module:
        layers = self.args.hypernet_layers
        if layers == 1:
            return nn.Linear(self.state_dim, out_dim)
        if layers == 2:
            hidden = self.args.hypernet_embed
            return nn.Sequential(nn.Linear(self.state_dim, hidden), nn.ReLU(), nn.Linear(hidden, out_dim))
        raise ValueError(f"hypernet_layers is 1 or 2, not {layers}")

    def forward(self, agent_qs: th.Tensor, states: th.Tensor) -> th.Tensor:
        """Values `[B, T, n]` and states `[B, T, S]` -> Q_tot `[B, T, 1]`."""
        batch_size = agent_qs.size(0)
        states = states.reshape(-1, self.state_dim)
        agent_qs = agent_qs.reshape(-1, self.n_agents, 1)

        # products and sums instead of bmm, which is slow for matrices as small as these
        w_1 = th.abs(self.hyper_w_1(states)).view(-1, self.n_agents, self.embed_dim)
        hidden = F.elu((agent_qs * w_1).sum(dim=1) + self.hyper_b_1(states))
        w_final = th.abs(self.hyper_w_final(states))
        q_tot = (hidden * w_final).sum(dim=1, keepdim=True) + self.V(states)
        return q_tot.view(batch_size, -1, 1)
