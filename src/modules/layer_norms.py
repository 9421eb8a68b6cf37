"""Layer normalisation by option (Ba et al. 2016)."""

import torch.nn as nn


def layer_norms(width: int, wanted: bool) -> tuple[nn.Module, nn.Module]:
    """Of the two hidden layers of a network, if `wanted`; else layers that change nothing."""
    return (nn.LayerNorm(width), nn.LayerNorm(width)) if wanted else (nn.Identity(), nn.Identity())
