"""Agents whose last layer is made by a role, which they infer from what they observe (ROMA, Wang et al. 2020)."""

from typing import Any

import torch as th
import torch.nn as nn
import torch.nn.functional as F

from modules.agents import REGISTRY
from modules.agents.agent import Agent, encoded_by
from modules.agents.gru_sequence import gru_sequence
from modules.roles import Gaussian
from utils.config.merging import with_defaults

Memory = dict[str, th.Tensor]


class ROMAAgent(Agent):
    """Linear -> ReLU -> GRU cell -> a linear layer with weights that a network makes of the agent's role (section 3).

    The role is a Gaussian of R = `latent_dim` numbers, which an encoder infers from the inputs of the step. Agents act
    by its mean; a learner draws from it (`role_of`, `values`). H = `rnn_hidden_dim`, K = `role_hidden_dim`.

    Its memory has the cell's, "hidden" `[N, H]`, and the encoder's outputs of the last step, "role" `[N, 2 R]`.
    """

    def __init__(self, input_shape: int, args: Any):
        super().__init__()
        self.args = args = with_defaults(args, REGISTRY.defaults_of(type(self)))
        size, hidden = args.rnn_hidden_dim, args.role_hidden_dim
        self.fc1 = nn.Linear(input_shape, size)
        self.rnn = nn.GRUCell(size, size)
        self.role1, self.role2 = nn.Linear(input_shape, hidden), nn.Linear(hidden, 2 * args.latent_dim)
        self.decoder = nn.Linear(args.latent_dim, hidden)
        self.fc2_w, self.fc2_b = nn.Linear(hidden, size * args.n_actions), nn.Linear(hidden, args.n_actions)

    def init_hidden(self) -> Memory:
        """Zeros, `[1, H]` and `[1, 2 R]`."""
        zeros = self.fc2_b.weight.new_zeros
        return {"hidden": zeros(1, self.args.rnn_hidden_dim), "role": zeros(1, 2 * self.args.latent_dim)}

    def encode(self, inputs: Any) -> th.Tensor:
        """The first layers' outputs, `[P, H + K]`."""
        return encoded_by(inputs, self.fc1, self.role1)

    def sequence(self, encoded: th.Tensor, sizes: list[int], hidden_state: Memory) -> tuple[th.Tensor, Memory]:
        """Outputs `[P, A]` by the roles' means, and memories."""
        size = self.args.rnn_hidden_dim
        x, seen = encoded.split([size, self.args.role_hidden_dim], dim=1)
        hidden = gru_sequence(self.rnn, F.relu(x), sizes, hidden_state["hidden"].reshape(-1, size))
        memory = {"hidden": hidden, "role": self.role2(F.leaky_relu(seen))}
        return self.values(hidden, self.role_of(memory).mean), memory

    def role_of(self, memory: Memory) -> Gaussian:
        """The distribution of each agent's role, `[..., R]`."""
        return Gaussian.of(memory["role"], self.args.var_floor)

    def values(self, hidden: th.Tensor, role: th.Tensor) -> th.Tensor:
        """Outputs `[..., A]` of the cell's memory `[..., H]` in a role `[..., R]`."""
        made = F.leaky_relu(self.decoder(role))
        weights = self.fc2_w(made).unflatten(-1, (hidden.size(-1), self.args.n_actions))
        return (hidden.unsqueeze(-1) * weights).sum(dim=-2) + self.fc2_b(made)
