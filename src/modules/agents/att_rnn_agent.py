"""A recurrent agent that attends to what the others of its team see (PyMARL2's `att_rnn`)."""

from collections.abc import Mapping
from math import prod
from typing import Any

import torch as th
import torch.nn as nn
import torch.nn.functional as F

from modules.agents import REGISTRY
from modules.agents.gru_sequence import gru_sequence
from modules.agents.messages import CommunicatingAgent, Message
from utils.config.merging import with_defaults


class AttentionRNNAgent(CommunicatingAgent):
    """The agent's own inputs -> GRU cell; the inputs of all agents, by attention -> linear; both -> outputs.

    Messages are made of inputs alone, so all steps of a batch are computed at once. H = `rnn_hidden_dim`, `att_heads`
    heads of `att_embed_dim` numbers. The weights' names are PyMARL2's.

    Args:
        input_shape: of each part of the inputs, by name.
    """

    takes_parts = True

    def __init__(self, input_shape: Mapping[str, tuple[int, ...]], args: Any):
        super().__init__(args)
        self.args = args = with_defaults(args, REGISTRY.defaults_of(type(self)))
        size, inputs = args.rnn_hidden_dim, sum(map(prod, input_shape.values()))
        heads = args.att_heads * args.att_embed_dim
        self.fc1 = nn.Linear(inputs, size)
        self.rnn = nn.GRUCell(size, size)
        parts = {name: nn.Linear(inputs, heads, bias=False) for name in ("tokeys", "toqueries", "tovalues")}
        self.att = nn.ModuleDict(parts)
        self.fc2 = nn.Linear(heads, size)
        self.fc3 = nn.Sequential(nn.Linear(2 * size, size), nn.ReLU(), nn.Linear(size, args.n_actions))

    def init_hidden(self) -> th.Tensor:
        """Zeros `[1, H]`."""
        return self.fc2.bias.new_zeros(1, self.args.rnn_hidden_dim)

    def encode(self, inputs: Any) -> th.Tensor:
        """What enters the cell, and what is heard, `[P, 2 H]`."""
        keys, queries, values = (inputs.through(self.att[name]) for name in ("tokeys", "toqueries", "tovalues"))
        heard = self.exchange(Message(values, keys, queries, heads=self.args.att_heads), own=True)
        return F.relu(th.cat([inputs.through(self.fc1), self.fc2(heard)], -1))

    def sequence(self, encoded: th.Tensor, sizes: list[int], hidden_state: th.Tensor) -> tuple[th.Tensor, th.Tensor]:
        """Outputs `[P, A]` and hidden states `[P, H]`."""
        size = self.args.rnn_hidden_dim
        x, heard = encoded.chunk(2, -1)
        hidden = gru_sequence(self.rnn, x.contiguous(), sizes, hidden_state.reshape(-1, size))
        return self.fc3(th.cat([hidden, heard], -1)), hidden
