"""Layer normalisation by option (Ba et al. 2016)."""

import torch as th
import torch.nn as nn

Norm = nn.LayerNorm | None


def layer_norms(width: int, wanted: bool) -> tuple[Norm, Norm]:
    """Of the two hidden layers of a network, if `wanted`."""
    return (nn.LayerNorm(width), nn.LayerNorm(width)) if wanted else (None, None)


def normed(norm: Norm, x: th.Tensor) -> th.Tensor:
    """`x` after the layer; without one, as it is."""
    return x if norm is None else norm(x)
