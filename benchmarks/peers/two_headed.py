"""The network of JaxMARL's IPPO as a plugin: after the GRU cell, a head of two layers for the policy and one for the
value."""

import torch as th
import torch.nn as nn
import torch.nn.functional as F

from modules.agents import REGISTRY
from modules.agents.rnn_agent import RNNAgent

# of the first layer's outputs, as many as a core's cache holds between the layers
CACHED_ROWS = 1024


class TwoHeadedAgent(RNNAgent):
    """Linear -> ReLU -> GRU cell -> (linear -> ReLU -> linear) for policy and value, all as wide as the cell."""

    def __init__(self, input_shape: int, args):
        super().__init__(input_shape, args)
        width = args.rnn_hidden_dim
        self.fc2 = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, args.n_actions - 1))
        self.value = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 1))

    def _values(self, hidden: th.Tensor) -> th.Tensor:
        """Both heads in one product a layer; the second layer's weights are 0 between the heads."""
        (policy, _, logits), (value, _, number) = self.fc2, self.value
        first = th.cat([policy.weight, value.weight]), th.cat([policy.bias, value.bias])
        second = th.block_diag(logits.weight, number.weight), th.cat([logits.bias, number.bias])
        blocks = [hidden] if hidden.is_cuda else hidden.split(CACHED_ROWS)
        parts = [F.linear(F.linear(rows, *first).relu_(), *second) for rows in blocks]
        return parts[0] if len(parts) == 1 else th.cat(parts)


REGISTRY["two_headed"] = TwoHeadedAgent
