"""The recurrent agent with layer normalisation, which learning without target networks needs."""

import torch as th
import torch.nn as nn
import torch.nn.functional as F

from modules.agents.rnn_agent import RNNAgent


class RNNLayerNormAgent(RNNAgent):
    """Linear -> LayerNorm -> ReLU -> GRU cell -> LayerNorm -> linear; H = `rnn_hidden_dim`, A = `n_actions`.

    Normalised layers keep temporal-difference learning from diverging (Gallici et al. 2024, section 3).
    """

    def __init__(self, input_shape: int, args):
        super().__init__(input_shape, args)
        self.norm1 = nn.LayerNorm(self.args.rnn_hidden_dim)
        self.norm2 = nn.LayerNorm(self.args.rnn_hidden_dim)

    def _activated(self, encoded: th.Tensor) -> th.Tensor:
        return F.relu_(self.norm1(encoded))

    def _values(self, hidden: th.Tensor) -> th.Tensor:
        return self.fc2(self.norm2(hidden))
