"""From entities to logits of their actions."""

import math

import numpy as np
import torch as th
import torch.nn as nn

from modules.entities.layout import Layout
from modules.initialisation import orthogonal_layer
from utils.tensors.devices import to_device


class CategoricalHead(nn.Module):
    """Logits of `choices`, near uniform at the start."""

    def __init__(self, d_model: int, choices: int):
        super().__init__()
        self.proj = nn.Linear(d_model, choices)
        orthogonal_layer(self.proj, 0.01)

    def forward(self, x: th.Tensor, layout: Layout, actors: th.Tensor, actees: None = None) -> th.Tensor:
        """From tokens `[tokens, d_model]` and entity numbers int64 `[R, S]` to `[R, S, choices]`.

        Logits of absent actors, those of number -1, are 0.
        """
        return _at_present(self.proj, x, layout, actors.cpu().numpy(), np.arange(len(actors)))


class SelectHead(nn.Module):
    """Each actor's query with the key of each entity that it may select."""

    def __init__(self, d_model: int, d_qk: int):
        super().__init__()
        self.query_proj, self.key_proj = nn.Linear(d_model, d_qk), nn.Linear(d_model, d_qk)
        self.scale = 1 / math.sqrt(d_qk)

    def forward(self, x: th.Tensor, layout: Layout, actors: th.Tensor, actees: th.Tensor) -> th.Tensor:
        """From tokens `[tokens, d_model]` and entity numbers int64 `[R, S]`, `[R, M]` to `[R, S, M]`.

        Logits of absent actors and actees, those of number -1, are 0.
        """
        logits = x.new_zeros(*actors.shape, actees.shape[1])
        who, whom = actors.cpu().numpy(), actees.cpu().numpy()
        frames = np.flatnonzero((who >= 0).any(1))
        if not len(frames) or not whom.shape[1]:
            return logits
        queries = _at_present(self.query_proj, x, layout, who[frames], frames)
        keys = _at_present(self.key_proj, x, layout, whom[frames], frames)
        chosen = to_device(th.from_numpy(frames), x.device)
        return logits.index_copy(0, chosen, queries @ keys.transpose(1, 2) * self.scale)


class RegressionHead(nn.Linear):
    """Numbers for the mean of a frame's entities, 0 at the start; a frame without entities has the bias."""

    def __init__(self, d_model: int, numbers: int):
        super().__init__(d_model, numbers)
        nn.init.zeros_(self.weight)
        nn.init.zeros_(self.bias)

    def forward(self, x: th.Tensor, layout: Layout) -> th.Tensor:  # type: ignore[override]
        """From tokens `[tokens, d_model]` to `[R, numbers]`: the mean of linear functions is that of the mean."""
        return layout.sums(x @ self.weight.t()) / layout.lengths.clamp(min=1).unsqueeze(1) + self.bias


def _at_present(layer: nn.Linear, x: th.Tensor, layout: Layout, numbers: np.ndarray, frames: np.ndarray) -> th.Tensor:
    """`layer` of the entities of these numbers `[rows, S]` in frames `[rows]`, `[rows, S, features]`; 0 for -1."""
    present = numbers >= 0
    row, column = present.nonzero()
    values = layer(x.index_select(0, layout.tokens(frames[row], numbers[row, column])))
    rows, slots = numbers.shape
    if len(row) < rows * slots:
        place = to_device(th.from_numpy(row * slots + column), x.device)
        values = values.new_zeros(rows * slots, values.shape[1]).index_copy(0, place, values)
    return values.view(rows, slots, layer.out_features)
