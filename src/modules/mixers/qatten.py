"""Qatten: attention over agents that weighs their values (Yang et al. 2020)."""

import numpy as np
import torch as th
import torch.nn as nn

from modules.mixers import REGISTRY
from modules.mixers.attention import OwnParts, attention_logits
from modules.mixers.heads import mlp
from utils.config.merging import with_defaults


class QattenMixer(nn.Module):
    """Q_tot = c(s) + sum_h w_h(s) sum_i softmax_i(k_hi . q_h(s)) Q_i over the heads h of attention.

    Queries q_h come of the state, keys k_hi of what is agent i's own: its observation or, with `agent_own_state_size`
    = U, its U numbers of the first n U of the state. With `weighted_heads`, w_h(s) >= 0 is a network, else 1.

    S = state size, O = size of an observation, n = agents. The names of weights are PyMARL2's.

    Raises:
        ConfigError: the state is shorter than that, or there is no observation.
    """

    def __init__(self, args):
        super().__init__()
        self.args = args = with_defaults(args, REGISTRY.defaults_of(type(self)))
        self.state_dim = int(np.prod(args.state_shape))
        self.own = OwnParts(args)
        heads, width = args.n_attention_head, args.n_query_embedding_layer2
        self.query_embedding_layers = nn.ModuleList(
            mlp(self.state_dim, args.n_query_embedding_layer1, 2, width) for _ in range(heads)
        )
        self.key_embedding_layers = nn.ModuleList(nn.Linear(self.own.size, width) for _ in range(heads))
        self.head_embedding_layer = mlp(self.state_dim, args.n_head_embedding_layer1, 2, heads)
        self.constrant_value_layer = mlp(self.state_dim, args.n_constrant_value, 2, 1)

    def forward(self, agent_qs: th.Tensor, states: th.Tensor, obs: th.Tensor) -> th.Tensor:
        """Values `[B, T, n]`, states `[B, T, S]` and observations `[B, T, n, O]` -> Q_tot `[B, T, 1]`."""
        batch_size = agent_qs.size(0)
        states = states.reshape(-1, self.state_dim)
        logits = attention_logits(self.query_embedding_layers, self.key_embedding_layers, states, self.own(states, obs))
        shares = th.softmax(logits / self.args.n_query_embedding_layer2**0.5, dim=-1)
        of_heads = (shares * agent_qs.reshape(-1, self.args.n_agents)).sum(dim=-1)
        if self.args.weighted_heads:
            of_heads = of_heads * self.head_embedding_layer(states).abs().T
        q_tot = of_heads.sum(dim=0) + self.constrant_value_layer(states).squeeze(1)
        return q_tot.view(batch_size, -1, 1)
