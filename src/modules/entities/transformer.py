"""A transformer over the entities of each frame: pre-norm blocks of attention, or pooling, and a small network."""

import math
from types import SimpleNamespace
from typing import Any

import torch as th
import torch.nn as nn
import torch.nn.functional as F

from modules.entities.layout import Layout
from modules.entities.relative_positions import Pairs, RelativePositions
from modules.fast_linear import FastLinear, fast_linear


class Pooling(nn.Module):
    """Linear, mean and/or maximum over the frame's entities, linear; linear in the number of entities.

    Entities that are not visible are pooled for others that are not only.
    """

    def __init__(self, options: SimpleNamespace):
        super().__init__()
        width = options.d_model
        self.prepool = FastLinear(width, width)
        self.kinds = [kind for kind in ("mean", "max") if kind in options.pooling]
        self.proj = FastLinear(len(self.kinds) * width, width)
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


class Attention(nn.Module):
    """Multi-head attention (Vaswani et al. 2017) within frames, with torch's own kernel.

    With relative positions it is written out: the kernel keeps its weights to itself, and relative values need them.
    """

    def __init__(self, options: SimpleNamespace):
        super().__init__()
        width = options.d_model
        self.key, self.query, self.value = (FastLinear(width, width) for _ in range(3))
        self.proj = FastLinear(width, width)
        self.heads, self.drop = options.n_head, options.attn_pdrop
        self.resid_drop = nn.Dropout(options.resid_pdrop)

    def forward(
        self, x: th.Tensor, layout: Layout, relative: RelativePositions | None = None, pairs: Pairs | None = None
    ) -> th.Tensor:
        """Tokens `[tokens, d_model]` to tokens."""
        x = layout.rectangle(x)
        query, key, value = _Three.apply(self._projected(x).unflatten(-1, (3, self.heads, -1)))
        drop = self.drop if self.training else 0.0
        if pairs is None or relative is None:
            y = F.scaled_dot_product_attention(query, key, value, attn_mask=layout.mask, dropout_p=drop)
        else:
            y = _relative_attention(query, key, value, pairs, relative.gate(x), layout.mask, drop)
        return self.resid_drop(self.proj(layout.flat(y.transpose(1, 2).flatten(2))))

    def _projected(self, x: th.Tensor) -> th.Tensor:
        """Queries, keys and values side by side, `[..., 3 * d_model]`: one product is faster than three."""
        parts = self.query, self.key, self.value
        return fast_linear(x, th.cat([part.weight for part in parts]), th.cat([part.bias for part in parts]))


class _Three(th.autograd.Function):
    """Queries, keys and values side by side, `[P, W, 3, heads, D]`, as three views `[P, heads, W, D]`.

    Their gradients are copied side by side once; those of `unbind` are stacked first, and then transposed.
    """

    @staticmethod
    def forward(ctx, together: th.Tensor) -> tuple[th.Tensor, ...]:
        return together.permute(2, 0, 3, 1, 4).unbind()

    @staticmethod
    def backward(ctx, *gradients: th.Tensor) -> th.Tensor:
        return th.stack([gradient.transpose(1, 2) for gradient in gradients], 2)


def _relative_attention(
    query: th.Tensor,
    key: th.Tensor,
    value: th.Tensor,
    pairs: Pairs,
    gate: th.Tensor | None,
    mask: th.Tensor | None,
    drop: float,
) -> th.Tensor:
    """Attention `[P, heads, W, D]` in which query i sees key j with key and value of its own for that pair."""
    relative_values = pairs.values if gate is None else pairs.values * gate.unsqueeze(1)
    logits = query @ key.transpose(-2, -1) + th.einsum("bhsd,bstd->bhst", query, pairs.keys)
    logits = logits / math.sqrt(query.shape[-1])
    if mask is not None:
        logits = logits + mask
    weights = F.dropout(logits.softmax(-1), drop)
    return weights @ value + th.einsum("bhst,bstd->bhsd", weights, relative_values)


class Block(nn.Module):
    """Adds attention, or pooling, and a network of one hidden layer; each sees layer-normalised tokens."""

    def __init__(self, options: SimpleNamespace):
        super().__init__()
        width = options.d_model
        self.ln1, self.ln2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attn = Attention(options) if options.pooling is None else Pooling(options)
        self.mlp = nn.Sequential(
            FastLinear(width, 4 * width), nn.GELU(), FastLinear(4 * width, width), nn.Dropout(options.resid_pdrop)
        )

    def forward(self, x: th.Tensor, layout: Layout, *relative: Any) -> th.Tensor:
        x = x + self.attn(self.ln1(x), layout, *relative)
        return x + self.mlp(self.ln2(x))


class Transformer(nn.Module):
    """Blocks one after the other, without a norm at the end.

    Args:
        options: of `modules.entities.options.NET`, checked.
        space: names of the features of each type, `__global__` included.
    """

    def __init__(self, options: SimpleNamespace, space: dict[str, list[str]]):
        super().__init__()
        self.relpos_encoding = None
        if options.relpos_encoding is not None:
            head_width = options.d_model // options.n_head
            self.relpos_encoding = RelativePositions(options.relpos_encoding, space, options.d_model, head_width)
        self.drop = nn.Dropout(options.embd_pdrop)
        self.blocks = nn.ModuleList(Block(options) for _ in range(options.n_layer))
        for module in self.modules():
            # on the device `meta` there is nothing to fill, and to do so takes the time in which torch imports sympy
            if isinstance(module, nn.Linear) and not module.weight.is_meta:
                nn.init.normal_(module.weight, std=0.02)
                nn.init.zeros_(module.bias)

    def forward(self, x: th.Tensor, layout: Layout, features: dict[str, th.Tensor], take_in: bool = False) -> th.Tensor:
        """Tokens `[tokens, d_model]` to tokens; `features` of each type `[n, F]` have the positions."""
        x = self.drop(x)
        if not len(x):
            return x
        relative: tuple[Any, ...] = ()
        if self.relpos_encoding is not None and self.blocks:
            relative = self.relpos_encoding, self.relpos_encoding(features, layout, take_in)
        for block in self.blocks:
            x = block(x, layout, *relative)
        return x

    def _load_from_state_dict(self, state_dict: dict[str, Any], prefix: str, *rest: Any) -> None:
        # rogue-net's layers list the relative positions that they share once more
        for key in [
            key for key in state_dict if key.startswith(f"{prefix}blocks.") and ".attn.relpos_encoding." in key
        ]:
            del state_dict[key]
        super()._load_from_state_dict(state_dict, prefix, *rest)
