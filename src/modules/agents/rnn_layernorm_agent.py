"""The recurrent agent with layer normalisation, which learning without target networks needs."""

import torch as th
import torch.nn as nn
import torch.nn.functional as F

from modules.agents.gru_sequence import gru_sequence
from utils.config import with_defaults


class RNNLayerNormAgent(nn.Module):
    """Linear -> LayerNorm -> ReLU -> GRU cell -> LayerNorm -> linear; H = `rnn_hidden_dim`, A = `n_actions`.

    Normalised layers keep temporal-difference learning from diverging (Gallici et al. 2024, section 3).
    """

    def __init__(self, input_shape: int, args):
        super().__init__()
        self.args = args = with_defaults(args)
        self.fc1 = nn.Linear(input_shape, args.rnn_hidden_dim)
        self.norm1 = nn.LayerNorm(args.rnn_hidden_dim)
        self.rnn = nn.GRUCell(args.rnn_hidden_dim, args.rnn_hidden_dim)
        self.norm2 = nn.LayerNorm(args.rnn_hidden_dim)
        self.fc2 = nn.Linear(args.rnn_hidden_dim, args.n_actions)

    def init_hidden(self) -> th.Tensor:
        """Zeros `[1, H]` on the network's device."""
        return self.fc1.weight.new_zeros(1, self.args.rnn_hidden_dim)

    def forward(self, inputs: th.Tensor, hidden_state: th.Tensor) -> tuple[th.Tensor, th.Tensor]:
        """Inputs `[N, input_shape]` and hidden states `[..., H]` of N agents -> outputs `[N, A]`, hidden `[N, H]`."""
        x = F.relu(self.norm1(self.fc1(inputs)))
        h = self.rnn(x, hidden_state.reshape(-1, self.args.rnn_hidden_dim))
        return self.fc2(self.norm2(h)), h

    def unroll(self, inputs: th.Tensor, hidden_state: th.Tensor) -> tuple[th.Tensor, th.Tensor]:
        """As `forward` over T steps: inputs `[T, N, input_shape]` -> outputs `[T, N, A]`, hidden `[T, N, H]`."""
        length, rows = inputs.shape[:2]
        encoded = self.fc1(inputs.flatten(0, 1))
        outputs, hidden = self.unroll_packed(encoded, [rows] * length, hidden_state)
        return outputs.view(length, rows, -1), hidden.view(length, rows, -1)

    def unroll_packed(
        self, encoded: th.Tensor, sizes: list[int], hidden_state: th.Tensor
    ) -> tuple[th.Tensor, th.Tensor]:
        """As `RNNAgent.unroll_packed`."""
        hidden = hidden_state.reshape(-1, self.args.rnn_hidden_dim)
        hidden = gru_sequence(self.rnn, F.relu(self.norm1(encoded)), sizes, hidden)
        return self.fc2(self.norm2(hidden)), hidden
