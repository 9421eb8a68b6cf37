"""A network that says by which latent variable an episode was played, of what was done in it (MAVEN)."""

from itertools import pairwise

import torch as th
import torch.nn as nn

from modules.agents.gru_sequence import gru_sequence


class TrajectoryDiscriminator(nn.Module):
    """A GRU over the steps of an episode, and layers with rectifiers -> logits of Z latents.

    Its first memory is ones, as MAVEN's authors have it.

    Args:
        size: numbers of a step.
        memory: units of the GRU.
        width, layers: of the hidden layers.
        latents: Z.
    """

    def __init__(self, size: int, memory: int, width: int, layers: int, latents: int):
        super().__init__()
        self.rnn = nn.GRUCell(size, memory)
        sizes = [memory, *[width] * layers]
        hidden = [part for i, o in pairwise(sizes) for part in (nn.Linear(i, o), nn.ReLU())]
        self.model = nn.Sequential(*hidden, nn.Linear(sizes[-1], latents))

    def forward(self, steps: th.Tensor, last: th.Tensor) -> th.Tensor:
        """Steps `[B, T, size]` and the last one of each episode, int64 `[B]` -> logits `[B, Z]`."""
        rows, length = steps.shape[:2]
        first = steps.new_ones(rows, self.rnn.hidden_size)
        states = gru_sequence(self.rnn, steps.transpose(0, 1).flatten(0, 1), [rows] * length, first)
        return self.model(states.unflatten(0, (length, rows))[last, th.arange(rows, device=last.device)])
