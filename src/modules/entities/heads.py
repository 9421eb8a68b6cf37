"""From entities to logits of their actions."""

import math

import torch as th
import torch.nn as nn

from modules.entities.layout import Layout
from modules.initialisation import orthogonal_layer


class CategoricalHead(nn.Module):
    """Logits of `choices`, near uniform at the start."""

    def __init__(self, d_model: int, choices: int):
        super().__init__()
        self.proj = nn.Linear(d_model, choices)
        orthogonal_layer(self.proj, 0.01)

    def forward(self, x: th.Tensor, layout: Layout, actors: th.Tensor, actees: None = None) -> th.Tensor:
        """From tokens `[N, d_model]` and entity numbers int64 `[R, S]` to `[R, S, choices]`.

        Logits of absent actors, those of number -1, are 0.
        """
        return _at_present(self.proj, x, layout, actors)


class SelectHead(nn.Module):
    """Each actor's query with the key of each entity that it may select."""

    def __init__(self, d_model: int, d_qk: int):
        super().__init__()
        self.query_proj, self.key_proj = nn.Linear(d_model, d_qk), nn.Linear(d_model, d_qk)
        self.scale = 1 / math.sqrt(d_qk)

    def forward(self, x: th.Tensor, layout: Layout, actors: th.Tensor, actees: th.Tensor) -> th.Tensor:
        """From tokens `[N, d_model]` and entity numbers int64 `[R, S]`, `[R, M]` to `[R, S, M]`.

        Logits of absent actors and actees, those of number -1, are 0.
        """
        logits = x.new_zeros(len(actors), actors.shape[1], actees.shape[1])
        frames = (actors >= 0).any(1).nonzero().squeeze(1)
        if not len(frames) or not actees.shape[1]:
            return logits
        queries = _at_present(self.query_proj, x, layout, actors[frames], frames)
        keys = _at_present(self.key_proj, x, layout, actees[frames], frames)
        return logits.index_copy(0, frames, queries @ keys.transpose(1, 2) * self.scale)


class RegressionHead(nn.Linear):
    """Numbers for the mean of a frame's entities, 0 at the start; a frame without entities has the bias."""

    def __init__(self, d_model: int, numbers: int):
        super().__init__(d_model, numbers)
        nn.init.zeros_(self.weight)
        nn.init.zeros_(self.bias)

    def forward(self, x: th.Tensor, layout: Layout) -> th.Tensor:
        """From tokens `[N, d_model]` to `[R, numbers]`: the mean of linear functions is that of the mean."""
        return layout.means(x @ self.weight.t()) + self.bias


def _at_present(
    layer: nn.Linear, x: th.Tensor, layout: Layout, numbers: th.Tensor, frames: th.Tensor | None = None
) -> th.Tensor:
    """`layer` of the entities of these numbers, `[R, S]` -> `[R, S, features]`; 0 for those of number -1.

    Args:
        frames: that the rows of `numbers` belong to, int64 `[R]`; None: all in order.
    """
    present = numbers >= 0
    row, column = present.nonzero(as_tuple=True)
    tokens = layout.token(row if frames is None else frames[row], numbers[row, column])
    values = layer(x.index_select(0, tokens))
    count, slots = numbers.shape
    if len(row) < count * slots:
        values = values.new_zeros(count * slots, values.shape[1]).index_copy(0, row * slots + column, values)
    return values.view(count, slots, -1)
