"""Pooling in place of attention: what a frame's entities have in common, for each of them."""

from types import SimpleNamespace

import torch as th
import torch.nn as nn

from modules.entities.layout import Layout
from modules.entities.token_linear import TokenLinear


class Pooling(nn.Module):
    """Linear, mean and/or maximum over the frame's entities, linear; linear in the number of entities.

    Entities that are not visible are pooled for others that are not only.
    """

    def __init__(self, options: SimpleNamespace):
        super().__init__()
        width = options.d_model
        self.prepool = TokenLinear(width, width)
        self.kinds = [kind for kind in ("mean", "max") if kind in options.pooling]
        self.proj = TokenLinear(len(self.kinds) * width, width)
        self.resid_drop = nn.Dropout(options.resid_pdrop)

    def forward(self, x: th.Tensor, layout: Layout) -> th.Tensor:
        """Tokens `[tokens, d_model]` to tokens."""
        x = self.prepool(x)
        pooled = self._pooled(x, layout.frame, len(layout.lengths))[layout.frame]
        if layout.visible is not None:
            seen = layout.visible
            of_seen = self._pooled(x[seen], layout.frame[seen], len(layout.lengths))[layout.frame]
            pooled = th.where(seen.unsqueeze(1), of_seen, pooled)
        return self.resid_drop(self.proj(pooled))

    def _pooled(self, x: th.Tensor, frame: th.Tensor, frames: int) -> th.Tensor:
        """`[R + 1, kinds * d_model]`, with zeros where a frame has no entity; the last one is padding's."""
        empty, parts = x.new_zeros(frames + 1, x.shape[1]), []
        if "mean" in self.kinds:
            lengths = th.bincount(frame, minlength=frames + 1)
            parts.append(empty.index_add(0, frame, x) / lengths.clamp(min=1).unsqueeze(1))
        if "max" in self.kinds:
            index = frame.unsqueeze(1).expand_as(x)
            parts.append(empty.scatter_reduce(0, index, x, "amax", include_self=False))
        return th.cat(parts, 1)
