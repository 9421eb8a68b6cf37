"""The recurrent policy of MAPPO's code (Yu et al. 2022, appendix): layers of normalised outputs around a GRU cell."""

from typing import Any

import torch as th
import torch.nn as nn

from modules.agents import REGISTRY
from modules.agents.agent import Agent
from modules.agents.gru_sequence import gru_sequence
from modules.layer_norms import normalised_layer
from utils.config.merging import with_defaults


class MAPPOAgent(Agent):
    """Two linear layers -> GRU cell -> linear; H = `rnn_hidden_dim`, A = `n_actions`.

    What enters the first layer, what leaves the rectifiers behind both, and the outputs of the cell are normalised over
    their numbers (Ba et al. 2016).
    """

    def __init__(self, input_shape: int, args):
        super().__init__()
        self.args = args = with_defaults(args, REGISTRY.defaults_of(type(self)))
        width = args.rnn_hidden_dim
        self.feature_norm = nn.LayerNorm(input_shape)
        self.fc1, self.fc2 = normalised_layer(input_shape, width), normalised_layer(width, width)
        self.rnn: Any = nn.GRUCell(width, width)
        self.after_rnn_norm = nn.LayerNorm(width)
        self.fc3 = nn.Linear(width, args.n_actions)

    def init_hidden(self) -> th.Tensor:
        """Zeros `[1, H]` on the network's device."""
        return self.fc3.weight.new_zeros(1, self.args.rnn_hidden_dim)

    def encode(self, inputs: Any) -> th.Tensor:
        """From inputs `[P, input_shape]` to the cell, `[P, H]`."""
        rows = inputs if isinstance(inputs, th.Tensor) else inputs.rows
        return self.fc2(self.fc1(self.feature_norm(rows)))

    def sequence(self, encoded: th.Tensor, sizes: list[int], hidden_state: th.Tensor) -> tuple[th.Tensor, th.Tensor]:
        """Outputs `[P, A]` and hidden states `[P, H]`, see `gru_sequence`."""
        hidden = gru_sequence(self.rnn, encoded, sizes, hidden_state.reshape(-1, self.args.rnn_hidden_dim))
        return self.fc3(self.after_rnn_norm(hidden)), hidden
