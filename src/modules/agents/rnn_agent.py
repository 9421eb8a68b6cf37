"""The recurrent agent of PyMARL (DRQN-style, Hausknecht & Stone 2015)."""

from typing import Any

import torch as th
import torch.nn as nn
import torch.nn.functional as F

from modules.agents import REGISTRY
from modules.agents.agent import Agent
from modules.agents.gru_sequence import gru_sequence
from modules.agents.prepared import GRUStep, PreparedStep, through
from modules.agents.prepared import normed as normed_rows
from modules.fast_linear import FastLinear
from modules.initialisation import orthogonal_layer
from modules.layer_norms import layer_norms, normed
from utils.config.merging import with_defaults


class RNNAgent(Agent):
    """Linear -> ReLU -> GRU cell -> linear; H = `rnn_hidden_dim`, A = `n_actions`.

    With `layer_norm`, the outputs of the first layer and of the cell are normalised, with `use_layer_norm` those of the
    cell alone (PyMARL2). With `use_orthogonal`, weights of linear layers start orthogonal. Without `use_rnn`, `rnn` is
    a linear layer with a rectifier after it, as in EPyMARL, and remembers nothing.
    """

    def __init__(self, input_shape: int, args):
        super().__init__()
        self.args = args = with_defaults(args, REGISTRY.defaults_of(type(self)))
        self.fc1 = FastLinear(input_shape, args.rnn_hidden_dim)
        layer = nn.GRUCell if args.use_rnn else FastLinear
        self.rnn: Any = layer(args.rnn_hidden_dim, args.rnn_hidden_dim)
        self.fc2: Any = FastLinear(args.rnn_hidden_dim, args.n_actions)
        self.norm1, self.norm2 = layer_norms(args.rnn_hidden_dim, self._normalised())
        self.layer_norm = nn.LayerNorm(args.rnn_hidden_dim) if args.use_layer_norm else None
        self.initialise()

    def initialise(self) -> None:
        """Draw orthogonal weights, if they are wanted."""
        if self.args.use_orthogonal:
            orthogonal_layer(self.fc1, 1.0)
            orthogonal_layer(self.fc2, self.args.gain)

    def init_hidden(self) -> th.Tensor:
        """Zeros `[1, H]` on the network's device."""
        return self.fc1.weight.new_zeros(1, self.args.rnn_hidden_dim)

    def forward(self, inputs: th.Tensor, hidden_state: th.Tensor) -> tuple[th.Tensor, th.Tensor]:
        """Inputs `[N, input_shape]` and hidden states `[..., H]` of N agents -> outputs `[N, A]`, hidden `[N, H]`."""
        x = self._activated(self.fc1(inputs))
        h = self.rnn(x, self._rows(hidden_state)) if self.args.use_rnn else F.relu(self.rnn(x))
        return self._values(h), h

    def encode(self, inputs) -> th.Tensor:
        """`fc1`'s outputs `[P, H]`."""
        return inputs.through(self.fc1)

    def sequence(self, encoded: th.Tensor, sizes: list[int], hidden_state: th.Tensor) -> tuple[th.Tensor, th.Tensor]:
        """As `forward` over sequences (see `gru_sequence`): `[P, H]` -> outputs `[P, A]`, hidden states `[P, H]`."""
        x = self._activated(encoded)
        if self.args.use_rnn:
            hidden = gru_sequence(self.rnn, x, sizes, self._rows(hidden_state))
        else:
            hidden = F.relu(self.rnn(x))
        return self._values(hidden), hidden

    def prepared(self, inputs: th.Tensor, n_agents: int) -> PreparedStep:
        """The step of N agents on the CPU, see `modules.agents.prepared`; `inputs` `[N, input_shape]`."""
        return _Step(self, inputs, n_agents)

    def _normalised(self) -> bool:
        return self.args.layer_norm

    def _rows(self, hidden_state: th.Tensor) -> th.Tensor:
        return hidden_state.reshape(-1, self.args.rnn_hidden_dim)

    def _activated(self, encoded: th.Tensor) -> th.Tensor:
        """From the first layer to the GRU; may overwrite its inputs."""
        return F.relu_(normed(self.norm1, encoded))

    def _values(self, hidden: th.Tensor) -> th.Tensor:
        """From the GRU to the outputs."""
        return self.fc2(self._normed(hidden))

    def _normed(self, hidden: th.Tensor) -> th.Tensor:
        return normed(self.layer_norm, normed(self.norm2, hidden))


class RNNLayerNormAgent(RNNAgent):
    """`RNNAgent` with `layer_norm`.

    Normalised layers keep temporal-difference learning from diverging (Gallici et al. 2024, section 3).
    """

    prepared = RNNAgent.prepared

    def _normalised(self) -> bool:
        return True


class _Step(PreparedStep):
    def __init__(self, agent: RNNAgent, inputs: th.Tensor, n_agents: int):
        super().__init__(agent, inputs, n_agents)
        self._width = agent.args.rnn_hidden_dim
        self._encoded = self._buffer(self._width)
        self._cell = GRUStep(agent.rnn, self._buffer(self._width)) if agent.args.use_rnn else None

    def __call__(self, hidden: th.Tensor) -> tuple[th.Tensor, th.Tensor]:
        layers = self._layers
        x = normed_rows(layers.get("norm1"), through(layers["fc1"], self._inputs, self._encoded)).relu_()
        if self._cell is not None:
            after = self._cell(x, self._by_agent(hidden.reshape(-1, self._width)))
        else:
            after = through(layers["rnn"], x).relu_()
        features = normed_rows(layers.get("layer_norm"), normed_rows(layers.get("norm2"), after))
        outputs = through(layers["fc2"], features)
        return self._together(outputs), self._together(after)
