"""Several small networks of equal layers on the same inputs, computed at once."""

import torch as th
import torch.nn as nn
import torch.nn.functional as F


def mlp(in_dim: int, hidden: int, layers: int, out_dim: int) -> nn.Module:
    """A linear layer, or several with rectifiers between them."""
    if layers == 1:
        return nn.Linear(in_dim, out_dim)
    middle = [layer for _ in range(layers - 2) for layer in (nn.Linear(hidden, hidden), nn.ReLU())]
    return nn.Sequential(nn.Linear(in_dim, hidden), nn.ReLU(), *middle, nn.Linear(hidden, out_dim))


def all_heads(heads: nn.ModuleList, inputs: th.Tensor) -> th.Tensor:
    """K networks of linear layers with rectifiers between them, on inputs `[N, D]` -> `[K, N, out]`."""
    linear = [[m for m in head.modules() if isinstance(m, nn.Linear)] for head in heads]
    first, *others = zip(*linear, strict=True)
    x = F.linear(inputs, th.cat([layer.weight for layer in first]), th.cat([layer.bias for layer in first]))
    x = x.view(len(inputs), len(first), -1).transpose(0, 1)
    for layers in others:
        weight = th.stack([layer.weight for layer in layers]).transpose(1, 2)
        x = th.baddbmm(th.stack([layer.bias for layer in layers]).unsqueeze(1), F.relu(x), weight)
    return x
