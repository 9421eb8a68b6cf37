"""An agent that sees pictures: by the convolutions of DQN (Mnih et al. 2015), and small ones by three of 2 x 2."""

from collections.abc import Mapping
from math import prod

import torch as th
import torch.nn as nn
import torch.nn.functional as F

from modules.agents import REGISTRY
from modules.agents.agent import Agent
from modules.agents.gru_sequence import gru_sequence
from modules.pictures import Layers, convolutions, features, pixels, smallest, with_channels_first
from utils.config.merging import with_defaults
from utils.errors import ConfigError

# channels, width and stride of each layer
LAYERS = ((32, 8, 4), (64, 4, 2), (32, 3, 1))
# of pictures that are smaller than those take: of a board, or of the cells round an agent, as MiniGrid's of 7 x 7
SMALL = ((16, 2, 1), (32, 2, 1), (64, 2, 1))


class CNNAgent(Agent):
    """Pictures -> three convolutions -> linear -> ReLU [-> GRU cell] -> linear; H = `rnn_hidden_dim`, A = `n_actions`.

    Other observations, last actions and agent ids enter the linear layer beside the pictures' features.

    Args:
        input_shape: of each part of the inputs, by name.
    """

    takes_parts = True

    def __init__(self, input_shape: dict[str, tuple[int, ...]], args):
        super().__init__()
        self.args = args = with_defaults(args, REGISTRY.defaults_of(type(self)))
        self._pictures = {key: shape for key, shape in input_shape.items() if len(shape) == 3}
        require_pixels("cnn", self._pictures, smallest(SMALL))
        self.convs = nn.ModuleDict(
            {key.replace(".", "_"): convolutions(shape, layers_of(shape)) for key, shape in self._pictures.items()}
        )
        size = sum(
            features(shape, layers_of(shape)) if key in self._pictures else prod(shape)
            for key, shape in input_shape.items()
        )
        self.fc1 = nn.Linear(size, args.rnn_hidden_dim)
        self.rnn = nn.GRUCell(args.rnn_hidden_dim, args.rnn_hidden_dim) if args.use_rnn else None
        self.fc2 = nn.Linear(args.rnn_hidden_dim, args.n_actions)

    def init_hidden(self) -> th.Tensor:
        """Zeros `[1, H]`."""
        return self.fc1.weight.new_zeros(1, self.args.rnn_hidden_dim)

    def encode(self, inputs) -> th.Tensor:
        """Features `[P, H]` of P agents."""
        parts = [self._features(key, x) for key, x in inputs.observations.items()]
        return F.relu(self.fc1(th.cat([*parts, *([] if inputs.others is None else [inputs.others])], dim=1)))

    def sequence(self, encoded: th.Tensor, sizes: list[int], hidden_state: th.Tensor) -> tuple[th.Tensor, th.Tensor]:
        """Outputs `[P, A]` and hidden states `[P, H]`; without the cell, those of its start."""
        hidden = hidden_state.reshape(-1, self.args.rnn_hidden_dim)
        if self.rnn is None:
            return self.fc2(encoded), th.cat([hidden[:size] for size in sizes])
        hidden = gru_sequence(self.rnn, encoded, sizes, hidden)
        return self.fc2(hidden), hidden

    def _features(self, key: str, x: th.Tensor) -> th.Tensor:
        if key not in self._pictures:
            return x.flatten(1)
        return self.convs[key.replace(".", "_")](with_channels_first(self._pictures[key], x))


def layers_of(shape: tuple[int, ...]) -> Layers:
    """Those for pictures of this shape: `LAYERS`, or `SMALL` where a side has too few pixels for them."""
    return LAYERS if min(pixels(shape)) >= smallest(LAYERS) else SMALL


def require_pixels(agent: str, pictures: Mapping[str, tuple[int, ...]], least: int) -> None:
    """Raises: ConfigError: a picture is too small for the layers of an agent."""
    for key, shape in pictures.items():
        height, width = pixels(shape)
        if min(height, width) < least:
            raise ConfigError(
                f"agent={agent}: '{key}' has {height} x {width} pixels; its layers need {least} at least."
            )
