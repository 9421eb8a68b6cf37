"""A feed-forward agent, for fully observed environments."""

import torch as th
import torch.nn as nn
import torch.nn.functional as F

from modules.agents import REGISTRY
from modules.agents.agent import Agent
from modules.layer_norms import layer_norms, normed
from utils.config import with_defaults


class FFAgent(Agent):
    """Linear -> ReLU -> linear -> ReLU -> linear; hidden states pass through unchanged.

    With `layer_norm`, what enters each ReLU is normalised.
    """

    def __init__(self, input_shape: int, args):
        super().__init__()
        self.args = args = with_defaults(args, REGISTRY.defaults_of(type(self)))
        self.fc1 = nn.Linear(input_shape, args.rnn_hidden_dim)
        self.fc2 = nn.Linear(args.rnn_hidden_dim, args.rnn_hidden_dim)
        self.fc3 = nn.Linear(args.rnn_hidden_dim, args.n_actions)
        self.norm1, self.norm2 = layer_norms(args.rnn_hidden_dim, args.layer_norm)

    def init_hidden(self) -> th.Tensor:
        """Zeros `[1, rnn_hidden_dim]`: the contract of an agent has a hidden state."""
        return self.fc1.weight.new_zeros(1, self.args.rnn_hidden_dim)

    def forward(self, inputs: th.Tensor, hidden_state: th.Tensor) -> tuple[th.Tensor, th.Tensor]:
        """Inputs `[N, input_shape]` of N agents -> outputs `[N, n_actions]`, `hidden_state` as given."""
        return self._after_fc1(self.fc1(inputs)), hidden_state

    def encode(self, inputs) -> th.Tensor:
        """`fc1`'s outputs `[P, H]`."""
        return inputs.through(self.fc1)

    def sequence(self, encoded: th.Tensor, sizes: list[int], hidden_state: th.Tensor) -> tuple[th.Tensor, th.Tensor]:
        """Outputs `[P, A]`; every step has the first hidden state of its sequence, `[P, H]`."""
        hidden = hidden_state.reshape(-1, self.args.rnn_hidden_dim)
        return self._after_fc1(encoded), th.cat([hidden[:size] for size in sizes])

    def _after_fc1(self, x: th.Tensor) -> th.Tensor:
        x = F.relu(normed(self.norm2, self.fc2(F.relu(normed(self.norm1, x)))))
        return self.fc3(x)
