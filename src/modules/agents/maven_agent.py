"""The agent of MAVEN (Mahajan et al. 2019): its last layer is made from the latent variable of the episode."""

import torch as th
import torch.nn as nn
import torch.nn.functional as F

from modules.agents import REGISTRY
from modules.agents.agent import Agent
from modules.agents.gru_sequence import gru_sequence
from utils.config.merging import with_defaults

Memory = tuple[th.Tensor, th.Tensor]


class MAVENAgent(Agent):
    """Linear -> ReLU -> GRU cell -> W h, where a hypernetwork makes W of the latent and the agent's number (figure 2).

    H = `rnn_hidden_dim`, Z = `noise_dim`, A = `n_actions`. Its memory is (hidden, latent), `[..., H]` and `[..., Z]`;
    the latent, one-hot, stays as it is in an episode. Zeros: none is chosen yet.
    """

    def __init__(self, input_shape: int, args):
        super().__init__()
        self.args = args = with_defaults(args, REGISTRY.defaults_of(type(self)))
        width = args.rnn_hidden_dim
        self.fc1 = nn.Linear(input_shape, width)
        self.rnn = nn.GRUCell(width, width)
        self.hyper_noise_fc1 = nn.Linear(args.noise_dim + args.n_agents, width * args.n_actions)

    def init_hidden(self) -> Memory:
        """Zeros `[1, H]` and `[1, Z]`, on the network's device."""
        zeros = self.fc1.weight.new_zeros
        return zeros(1, self.args.rnn_hidden_dim), zeros(1, self.args.noise_dim)

    def encode(self, inputs) -> th.Tensor:
        """`fc1`'s outputs `[P, H]`."""
        return inputs.through(self.fc1)

    def forward(self, inputs: th.Tensor, hidden_state: Memory) -> tuple[th.Tensor, Memory]:
        """Inputs `[N, input_shape]` and memories `[..., H]` of N agents -> outputs `[N, A]`, memories `[N, H]`."""
        encoded = self.fc1(inputs)
        return self.sequence(encoded, [len(encoded)], hidden_state)

    def sequence(self, encoded: th.Tensor, sizes: list[int], hidden_state: Memory) -> tuple[th.Tensor, Memory]:
        """As `forward` over sequences: `[P, H]` -> outputs `[P, A]`, memories after each step `[P, ...]`."""
        hidden, latent = (x.reshape(-1, x.size(-1)) for x in hidden_state)
        hidden = gru_sequence(self.rnn, F.relu(encoded), sizes, hidden)
        latent = latent if len(sizes) == 1 else th.cat([latent[:size] for size in sizes])
        return self._values(hidden, latent), (hidden, latent)

    def _values(self, hidden: th.Tensor, latent: th.Tensor) -> th.Tensor:
        n = self.args.n_agents
        ids = th.eye(n, dtype=hidden.dtype, device=hidden.device).repeat(len(hidden) // n, 1)
        weights = self.hyper_noise_fc1(th.cat([latent, ids], dim=-1)).unflatten(1, (self.args.n_actions, -1))
        return th.bmm(weights, hidden.unsqueeze(2)).squeeze(2)
