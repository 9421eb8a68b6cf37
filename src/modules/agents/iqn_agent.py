"""Agents of distributions of returns: IQN (Dabney et al. 2018b), QR-DQN (Dabney et al. 2018a), C51 (Bellemare et al.
2017)."""

import math
from collections.abc import Mapping
from math import prod

import torch as th
import torch.nn as nn
import torch.nn.functional as F

from modules.agents import REGISTRY
from modules.agents.agent import Agent
from modules.agents.cnn_agent import require_pixels
from modules.agents.prepared import PreparedStep, through
from modules.fast_linear import FastLinear
from modules.initialisation import orthogonal_layer
from modules.noisy import NoisyLinear
from modules.pictures import convolutions, features, smallest, with_channels_first
from utils.config.merging import with_defaults
from utils.errors import ConfigError

# channels, width and stride of each layer over a picture: Linesight's, and DQN's (Mnih et al. 2015)
LAYERS = {
    "linesight": ((16, 4, 2), (32, 4, 2), (64, 3, 2), (32, 3, 1)),
    "dqn": ((32, 8, 4), (64, 4, 2), (64, 3, 1)),
}
LEAK = 0.01
GAIN = math.sqrt(2 / (1 + LEAK**2))
# N agents, Q quantiles (or atoms), A actions


class IQNAgent(Agent):
    """Values of quantiles of the return of each action; acting goes by their mean.

    Pictures pass convolutions, all other inputs two linear layers. By `distribution`:

    - "implicit" (IQN): the features are multiplied by an embedding of a quantile's fraction tau,
      leaky_relu(W cos(pi i tau)), i = 1 to `tau_features`; fractions are drawn at random.
    - "quantiles" (QR-DQN): `quantiles` outputs for each action, of the fractions (k + 1/2) / `quantiles`.
    - "categorical" (C51): logits of `quantiles` atoms between `value_min` and `value_max`.

    An advantage and a value head (Wang et al. 2016), Q = V + A - mean A. Weights are orthogonal at first, and with
    `noisy_std` those of the heads are noisy (Fortunato et al. 2018).

    Args:
        input_shape: of each part of the inputs, by name.

    Raises:
        ConfigError: pictures that are too small, or atoms without a range.
    """

    takes_parts = True

    def __init__(self, input_shape: Mapping[str, tuple[int, ...]], args):
        super().__init__()
        self.args = args = with_defaults(args, REGISTRY.defaults_of(type(self)))
        self._pictures = {key: shape for key, shape in input_shape.items() if len(shape) == 3}
        layers = LAYERS[args.picture_layers]
        require_pixels("iqn", self._pictures, smallest(layers))
        self.convs = nn.ModuleDict(
            {
                key.replace(".", "_"): convolutions(shape, layers, lambda: nn.LeakyReLU(LEAK))
                for key, shape in self._pictures.items()
            }
        )
        numbers = sum(prod(shape) for key, shape in input_shape.items() if key not in self._pictures)
        width, head = args.rnn_hidden_dim, args.head_dim
        self.fc1 = FastLinear(numbers, width) if numbers else None
        self.fc2 = FastLinear(width, width) if numbers else None
        size = sum(features(shape, layers) for shape in self._pictures.values()) + (width if numbers else 0)
        self.implicit = args.distribution == "implicit"
        if args.distribution == "categorical" and args.value_min >= args.value_max:
            raise ConfigError(f"value_min={args.value_min} must be below value_max={args.value_max}.")
        self.embedding = FastLinear(args.tau_features, size) if self.implicit else None
        # numbers that the heads give for each action
        self.outputs = 1 if self.implicit else args.quantiles
        self.advantage1, self.advantage2 = self._layer(size, head), self._layer(head, args.n_actions * self.outputs)
        self.value1 = self._layer(size, head) if args.dueling else None
        self.value2 = self._layer(head, self.outputs) if args.dueling else None
        self.initialise()

    def _layer(self, inputs: int, outputs: int) -> nn.Module:
        """Of a head."""
        noise = self.args.noisy_std
        return NoisyLinear(inputs, outputs, noise) if noise else FastLinear(inputs, outputs)

    @property
    def atoms(self) -> th.Tensor | None:
        """The values of the atoms, `[Q]`; None unless the distribution is categorical."""
        if self.args.distribution != "categorical":
            return None
        low, high = self.args.value_min, self.args.value_max
        return th.linspace(low, high, self.outputs, device=next(self.parameters()).device)

    def initialise(self, generator: th.Generator | None = None) -> None:
        """New orthogonal weights."""
        last = (self.advantage2, self.value2)
        for layer in self.modules():
            if hasattr(layer, "weight"):
                # cosines have half the variance of unit inputs
                gain = GAIN * 2**0.5 if layer is self.embedding else 1.0 if layer in last else GAIN
                orthogonal_layer(layer, gain, generator)

    def last_weights(self) -> list[nn.Parameter]:
        """Those of the last layers of the heads."""
        return [w for layer in (self.advantage2, self.value2) if layer is not None for w in layer.parameters()]

    def init_hidden(self) -> th.Tensor:
        """Zeros `[1, rnn_hidden_dim]`: the contract of an agent has a hidden state."""
        return next(self.parameters()).new_zeros(1, self.args.rnn_hidden_dim)

    def forward(self, inputs, hidden_state: th.Tensor) -> tuple[th.Tensor, th.Tensor]:
        """The mean of `acting_quantiles` values of each action `[N, A]`, of random fractions, and `hidden_state`."""
        encoded = self.encode(inputs)
        taus = None
        if self.implicit:
            taus = mirrored_fractions(th.rand(self.args.acting_quantiles // 2, len(encoded), device=encoded.device))
        return self.mean(self.quantiles_of(encoded, taus)), hidden_state

    def prepared(self, inputs: th.Tensor, n_agents: int) -> PreparedStep:
        """The step of N agents on the CPU, see `modules.agents.prepared`; `inputs` `[N, I]`."""
        return _Step(self, inputs, n_agents)

    def mean(self, outputs: th.Tensor) -> th.Tensor:
        """Expected returns `[..., A]` by what `quantiles_of` returns, `[Q, ..., A]`."""
        if self.atoms is None:
            return outputs.mean(dim=0)
        return th.einsum("q,q...->...", self.atoms, outputs.softmax(dim=0))

    def encode(self, inputs) -> th.Tensor:
        """Features `[N, F]`."""
        seen = inputs.observations
        parts = [
            self.convs[key.replace(".", "_")](with_channels_first(shape, seen[key]))
            for key, shape in self._pictures.items()
        ]
        rows = [x.flatten(1) for key, x in seen.items() if key not in self._pictures]
        rows += [] if inputs.others is None else [inputs.others]
        if self.fc1 is not None and self.fc2 is not None:
            parts.append(_leaky(self.fc2(_leaky(self.fc1(th.cat(rows, dim=1))))))
        return th.cat(parts, dim=1)

    def quantiles_of(self, encoded: th.Tensor, taus: th.Tensor | None) -> th.Tensor:
        """Values of quantiles, or logits of atoms, `[Q, N, A]`.

        Args:
            encoded: features `[N, F]`.
            taus: fractions `[Q, N]`; None where they are fixed.
        """
        if self.embedding is not None and taus is not None:
            order = th.arange(1, self.args.tau_features + 1, device=taus.device)
            encoded = encoded * _leaky(self.embedding(th.cos(math.pi * order * taus.unsqueeze(-1))))
        else:
            encoded = encoded.unsqueeze(0)
        values = self._by_quantile(self.advantage2(_leaky(self.advantage1(encoded))))
        if self.value1 is None or self.value2 is None:
            return values
        state_value = self._by_quantile(self.value2(_leaky(self.value1(encoded))))
        return state_value + values - values.mean(dim=-1, keepdim=True)

    def _by_quantile(self, outputs: th.Tensor) -> th.Tensor:
        """`[Q, N, A]` as it is, or of `[1, N, A * Q]`."""
        if self.implicit:
            return outputs
        return outputs.squeeze(0).unflatten(-1, (-1, self.outputs)).permute(2, 0, 1)


class _Step(PreparedStep):
    """Without pictures. Only the mean is asked, so a head's last layer sees the mean of its first over Q fractions."""

    def __init__(self, agent: IQNAgent, inputs: th.Tensor, n_agents: int):
        super().__init__(agent, inputs, n_agents)
        args, self._outputs, self._atoms = agent.args, agent.outputs, agent.atoms
        # several rows for each agent: one for each fraction
        self._fractions = args.acting_quantiles if agent.implicit else 1
        self._first, self._features = (self._buffer(args.rnn_hidden_dim) for _ in range(2))
        size = args.tau_features if agent.implicit else 0
        self._cosines, self._embedded, self._head = (
            th.empty(*self._lead, self._fractions * self._rows, of) for of in (size, args.rnn_hidden_dim, args.head_dim)
        )
        self._order = math.pi * th.arange(1, size + 1)

    def __call__(self, hidden: th.Tensor) -> tuple[th.Tensor, th.Tensor]:
        layers = self._layers
        x = _leaky_(through(layers["fc1"], self._inputs, self._first))
        x = _leaky_(through(layers["fc2"], x, self._features))
        if layers.get("embedding") is not None:
            x = self._by_fraction(x)
        values = self._of_head("advantage", x).unflatten(-1, (-1, self._outputs))
        if layers.get("value1") is not None:
            values = self._of_head("value", x).unsqueeze(-2) + values - values.mean(dim=-2, keepdim=True)
        values = values.mean(dim=-1) if self._atoms is None else values.softmax(dim=-1) @ self._atoms
        return self._together(values), hidden

    def _by_fraction(self, features: th.Tensor) -> th.Tensor:
        """Features `[..., rows, F]` at random fractions, `[..., Q * rows, F]`."""
        taus = mirrored_fractions(th.rand(self._fractions // 2, self._rows * (self._n_agents if self._lead else 1)))
        if self._lead:
            taus = taus.unflatten(1, (self._rows, self._n_agents)).permute(2, 0, 1)
        th.mul(taus.reshape(*self._lead, -1, 1), self._order, out=self._cosines).cos_()
        embedded = _leaky_(through(self._layers["embedding"], self._cosines, self._embedded))
        embedded.unflatten(-2, (self._fractions, self._rows)).mul_(features.unsqueeze(-3))
        return embedded

    def _of_head(self, head: str, x: th.Tensor) -> th.Tensor:
        """The mean over fractions `[..., rows, outputs]`."""
        known = _leaky_(through(self._layers[f"{head}1"], x, self._head))
        if self._fractions > 1:
            known = known.unflatten(-2, (self._fractions, self._rows)).mean(dim=-3)
        return through(self._layers[f"{head}2"], known)


def mirrored_fractions(uniform: th.Tensor) -> th.Tensor:
    """Fractions tau of Q quantiles `[Q, ...]`: (k + U) / Q for k < Q / 2, and 1 - tau of each of these.

    Args:
        uniform: U, random numbers from 0 to 1 `[Q / 2, ...]`.
    """
    half = len(uniform)
    k = th.arange(half, device=uniform.device).view(-1, *[1] * (uniform.dim() - 1))
    low = (k + uniform) / (2 * half)
    return th.cat([low, 1 - low])


def fixed_fractions(number: int) -> th.Tensor:
    """(k + 1/2) / Q for k < Q, `[Q]`."""
    return (th.arange(number) + 0.5) / number


def _leaky(x: th.Tensor) -> th.Tensor:
    return F.leaky_relu(x, LEAK)


def _leaky_(x: th.Tensor) -> th.Tensor:
    return F.leaky_relu_(x, LEAK)
