"""A feed-forward agent, for fully observed environments."""

from itertools import pairwise

import torch as th
import torch.nn as nn
import torch.nn.functional as F

from modules.agents import REGISTRY
from modules.agents.agent import Agent
from modules.agents.prepared import PreparedStep, through
from modules.agents.prepared import normed as normed_rows
from modules.fast_linear import FastLinear
from modules.layer_norms import normed
from utils.config.merging import with_defaults


class FFAgent(Agent):
    """Linear layers with a ReLU after each of the `hidden_layers`; hidden states pass through unchanged.

    With `layer_norm`, what enters each ReLU is normalised. The layers are `fc1`, `fc2`, ..., the norms `norm1`, ...
    """

    fc1: nn.Linear

    def __init__(self, input_shape: int, args):
        super().__init__()
        self.args = args = with_defaults(args, REGISTRY.defaults_of(type(self)))
        width, hidden = args.rnn_hidden_dim, range(1, args.hidden_layers + 1)
        for i, (size, to) in enumerate(pairwise([input_shape, *[width] * len(hidden), args.n_actions]), start=1):
            setattr(self, f"fc{i}", FastLinear(size, to))
        for i in hidden:
            setattr(self, f"norm{i}", nn.LayerNorm(width) if args.layer_norm else None)
        self._hidden = hidden

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

    def prepared(self, inputs: th.Tensor, n_agents: int) -> PreparedStep:
        """The step of N agents on the CPU, see `modules.agents.prepared`; `inputs` `[N, input_shape]`."""
        return _Step(self, inputs, n_agents)

    def _after_fc1(self, x: th.Tensor) -> th.Tensor:
        for i in self._hidden:
            x = getattr(self, f"fc{i + 1}")(F.relu(normed(getattr(self, f"norm{i}"), x)))
        return x


class _Step(PreparedStep):
    def __init__(self, agent: FFAgent, inputs: th.Tensor, n_agents: int):
        super().__init__(agent, inputs, n_agents)
        self._hidden = [(f"fc{i}", f"norm{i}", self._buffer(agent.args.rnn_hidden_dim)) for i in agent._hidden]
        self._last = f"fc{len(self._hidden) + 1}"

    def __call__(self, hidden: th.Tensor) -> tuple[th.Tensor, th.Tensor]:
        x, layers = self._inputs, self._layers
        for layer, norm, buffer in self._hidden:
            x = normed_rows(layers.get(norm), through(layers[layer], x, buffer)).relu_()
        return self._together(through(layers[self._last], x)), hidden
