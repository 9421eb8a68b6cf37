"""A recurrent agent with an LSTM cell (Hochreiter & Schmidhuber 1997)."""

import torch as th
import torch.nn as nn
import torch.nn.functional as F

from modules.agents import REGISTRY
from modules.agents.agent import Agent
from modules.layer_norms import layer_norms, normed
from utils.config.merging import with_defaults

Memory = tuple[th.Tensor, th.Tensor]


class LSTMAgent(Agent):
    """Linear -> ReLU -> LSTM cell -> linear; H = `rnn_hidden_dim`, A = `n_actions`.

    With `layer_norm`, the outputs of the first layer and of the cell are normalised. Its memory is (hidden, cell),
    `[..., H]` each.
    """

    def __init__(self, input_shape: int, args):
        super().__init__()
        self.args = args = with_defaults(args, REGISTRY.defaults_of(type(self)))
        width = args.rnn_hidden_dim
        self.fc1 = nn.Linear(input_shape, width)
        self.rnn = nn.LSTMCell(width, width)
        self.fc2 = nn.Linear(width, args.n_actions)
        self.norm1, self.norm2 = layer_norms(width, args.layer_norm)

    def init_hidden(self) -> Memory:
        """Zeros `[1, H]` each, on the network's device."""
        zeros = self.fc1.weight.new_zeros(1, self.args.rnn_hidden_dim)
        return zeros, zeros.clone()

    def encode(self, inputs) -> th.Tensor:
        """`fc1`'s outputs `[P, H]`."""
        return inputs.through(self.fc1)

    def forward(self, inputs: th.Tensor, hidden_state: Memory) -> tuple[th.Tensor, Memory]:
        """Inputs `[N, input_shape]` and memories `[..., H]` of N agents -> outputs `[N, A]`, memories `[N, H]`."""
        hidden, cell = self.rnn(self._activated(self.fc1(inputs)), self._rows(hidden_state))
        return self._values(hidden), (hidden, cell)

    def sequence(self, encoded: th.Tensor, sizes: list[int], hidden_state: Memory) -> tuple[th.Tensor, Memory]:
        """As `forward` over sequences: `[P, H]` -> outputs `[P, A]`, memories after each step `[P, H]`."""
        state, states = self._rows(hidden_state), []
        for x in self._activated(encoded).split(sizes):
            state = self.rnn(x, (state[0][: len(x)], state[1][: len(x)]))
            states.append(state)
        hidden, cell = (th.cat(parts) for parts in zip(*states, strict=True))
        return self._values(hidden), (hidden, cell)

    def _rows(self, memory: Memory) -> Memory:
        hidden, cell = memory
        width = self.args.rnn_hidden_dim
        return hidden.reshape(-1, width), cell.reshape(-1, width)

    def _activated(self, encoded: th.Tensor) -> th.Tensor:
        return F.relu(normed(self.norm1, encoded))

    def _values(self, hidden: th.Tensor) -> th.Tensor:
        return self.fc2(normed(self.norm2, hidden))
