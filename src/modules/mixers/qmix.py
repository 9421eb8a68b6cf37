"""QMIX: monotonic value function factorisation (Rashid et al. 2018)."""

import numpy as np
import torch as th
import torch.nn as nn
import torch.nn.functional as F

from modules.fast_linear import FastLinear
from modules.mixers import REGISTRY
from modules.mixers.heads import mlp
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
        self.hyper_b_1 = FastLinear(self.state_dim, self.embed_dim)
        # V(s) takes the place of a bias of the last layer
        self.V = nn.Sequential(FastLinear(self.state_dim, self.embed_dim), nn.ReLU(), FastLinear(self.embed_dim, 1))

    def _hypernet(self, out_dim: int) -> nn.Module:
        layers = self.args.hypernet_layers
        if layers == 1:
            return FastLinear(self.state_dim, out_dim)
        if layers == 2:
            hidden = self.args.hypernet_embed
            return nn.Sequential(FastLinear(self.state_dim, hidden), nn.ReLU(), FastLinear(hidden, out_dim))
        raise ValueError(f"hypernet_layers is 1 or 2, not {layers}")

    def forward(self, agent_qs: th.Tensor, states: th.Tensor) -> th.Tensor:
        """Values `[B, T, n]` and states `[B, T, S]` -> Q_tot `[B, T, 1]`."""
        states = states.reshape(-1, self.state_dim)
        w_1, w_final = th.abs(self.hyper_w_1(states)), th.abs(self.hyper_w_final(states))
        return monotonic_mix(agent_qs, w_1, self.hyper_b_1(states), w_final, self.V(states))

    def k(self, states: th.Tensor) -> th.Tensor:
        """|W1(s)| |W_final(s)|, what each agent's value counts without elu: states `[B, T, S]` -> `[B, T, n]`."""
        rows = states.reshape(-1, self.state_dim)
        w_1, w_final = th.abs(self.hyper_w_1(rows)), th.abs(self.hyper_w_final(rows))
        counts = (w_1.view(-1, self.n_agents, self.embed_dim) * w_final.unsqueeze(1)).sum(dim=2)
        return counts.view(*states.shape[:2], self.n_agents)


class NMixer(nn.Module):
    """`QMixer` with two-layer hypernetworks, as PyMARL2 names and orders its weights, and with its other signs.

    `qmix_pos_func` makes weights positive: abs, softplus (sharper with a larger `qmix_pos_func_beta`) or quadratic.
    """

    def __init__(self, args):
        super().__init__()
        self.args = args = with_defaults(args, REGISTRY.defaults_of(type(self)))
        self.state_dim = int(np.prod(args.state_shape))
        hidden, embed = args.hypernet_embed, args.mixing_embed_dim
        self.hyper_w1 = mlp(self.state_dim, hidden, 2, args.n_agents * embed)
        self.hyper_b1 = nn.Sequential(FastLinear(self.state_dim, embed))
        self.hyper_w2 = mlp(self.state_dim, hidden, 2, embed)
        self.hyper_b2 = mlp(self.state_dim, embed, 2, 1)

    def forward(self, agent_qs: th.Tensor, states: th.Tensor) -> th.Tensor:
        """Values `[B, T, n]` and states `[B, T, S]` -> Q_tot `[B, T, 1]`."""
        states = states.reshape(-1, self.state_dim)
        w_1, w_final = self._positive(self.hyper_w1(states)), self._positive(self.hyper_w2(states))
        return monotonic_mix(agent_qs, w_1, self.hyper_b1(states), w_final, self.hyper_b2(states))

    def _positive(self, x: th.Tensor) -> th.Tensor:
        return positive(x, self.args.qmix_pos_func, self.args.qmix_pos_func_beta)


def positive(x: th.Tensor, by: str, beta: float) -> th.Tensor:
    """Weights made positive `by` abs, softplus (sharper with a larger `beta`) or quadratic, half the square."""
    if by == "softplus":
        return F.softplus(x, beta=beta)
    return 0.5 * x**2 if by == "quadratic" else th.abs(x)


def monotonic_mix(
    agent_qs: th.Tensor, w_1: th.Tensor, b_1: th.Tensor, w_final: th.Tensor, b_final: th.Tensor
) -> th.Tensor:
    """elu(Q W1 + b1) W_final + b_final, of values `[B, T, n]` and one row of weights for each state -> `[B, T, 1]`.

    Args:
        w_1: `[B * T, n * E]`, positive; b_1, w_final: `[B * T, E]`; b_final: `[B * T, 1]`.
    """
    batch_size, _, n_agents = agent_qs.shape
    # products and sums instead of bmm, which is slow for matrices as small as these
    hidden = F.elu((agent_qs.reshape(-1, n_agents, 1) * w_1.view(-1, n_agents, w_final.size(1))).sum(dim=1) + b_1)
    q_tot = (hidden * w_final).sum(dim=1, keepdim=True) + b_final
    return q_tot.view(batch_size, -1, 1)
