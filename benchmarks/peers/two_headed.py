"""The network of JaxMARL's IPPO as a plugin: after the GRU cell, a head of two layers for the policy and one for the
value."""

import torch as th
import torch.nn as nn

from modules.agents import REGISTRY
from modules.agents.rnn_agent import RNNAgent


class TwoHeadedAgent(RNNAgent):
    """Linear -> ReLU -> GRU cell -> (linear -> ReLU -> linear) for policy and value, all as wide as the cell."""

    def __init__(self, input_shape: int, args):
        super().__init__(input_shape, args)
        width = args.rnn_hidden_dim
        self.fc2 = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, args.n_actions - 1))
        self.value = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 1))

    def _values(self, hidden: th.Tensor) -> th.Tensor:
        return th.cat([self.fc2(hidden), self.value(hidden)], dim=-1)


REGISTRY["two_headed"] = TwoHeadedAgent
