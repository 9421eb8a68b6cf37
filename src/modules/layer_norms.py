"""Layer normalisation by option (Ba et al. 2016)."""

import torch as th
import torch.nn as nn

Norm = nn.LayerNorm | None


def layer_norms(width: int, wanted: bool) -> tuple[Norm, Norm]:
    """Of the two hidden layers of a network, if `wanted`."""
    return (nn.LayerNorm(width), nn.LayerNorm(width)) if wanted else (None, None)


def normalised_layer(inputs: int, width: int) -> nn.Sequential:
    """A linear layer and a rectifier, whose outputs are normalised."""
    return nn.Sequential(nn.Linear(inputs, width), nn.ReLU(), nn.LayerNorm(width))


def normed(norm: Norm, x: th.Tensor) -> th.Tensor:
    """`x` after the layer; without one, as it is."""
    return x if norm is None else norm(x)
