"""An agent that sees its last inputs side by side, by convolutions over time (PyMARL2's `conv_agent`)."""

from collections.abc import Mapping
from math import prod
from typing import Any

import torch as th
import torch.nn as nn
import torch.nn.functional as F

from modules.agents import REGISTRY
from modules.agents.agent import Agent
from utils.config.merging import with_defaults


class ConvAgent(Agent):
    """The last `frames` inputs -> two convolutions over time, of 2 and 3 steps -> two linear layers.

    Its memory is the `frames` - 1 inputs before, zeros before an episode's first step. H = `rnn_hidden_dim`.

    Args:
        input_shape: of each part of the inputs, by name.
    """

    takes_parts = True

    def __init__(self, input_shape: Mapping[str, tuple[int, ...]], args: Any):
        super().__init__()
        self.args = args = with_defaults(args, REGISTRY.defaults_of(type(self)))
        size, self.inputs = args.rnn_hidden_dim, sum(map(prod, input_shape.values()))
        self.conv1 = nn.Conv1d(self.inputs, size, 2)
        self.conv2 = nn.Conv1d(size, size, 3)
        self.fc1 = nn.Linear((args.frames - 3) * size, size)
        self.fc2 = nn.Linear(size, args.n_actions)

    def init_hidden(self) -> th.Tensor:
        """Zeros `[1, (frames - 1) * I]`."""
        return self.fc2.bias.new_zeros(1, (self.args.frames - 1) * self.inputs)

    def encode(self, inputs: Any) -> th.Tensor:
        """The inputs as they are, `[P, I]`."""
        return inputs.rows

    def sequence(self, encoded: th.Tensor, sizes: list[int], hidden_state: th.Tensor) -> tuple[th.Tensor, th.Tensor]:
        """Outputs `[P, A]` and the last inputs, `[P, (frames - 1) * I]`."""
        hidden, seen = hidden_state.reshape(-1, hidden_state.size(-1)), []
        for x in encoded.split(sizes):
            seen.append(th.cat([hidden[: len(x)], x], -1))
            hidden = seen[-1][:, self.inputs :]
        rows = th.cat(seen)
        frames = rows.unflatten(-1, (self.args.frames, self.inputs)).transpose(1, 2)
        x = F.relu(self.conv2(F.relu(self.conv1(frames)))).flatten(1)
        return self.fc2(F.relu(self.fc1(x))), rows[:, self.inputs :]
