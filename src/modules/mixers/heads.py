"""Several small networks of equal layers on the same inputs, computed at once."""

from collections.abc import Callable, Sequence

import torch as th
import torch.nn as nn
import torch.nn.functional as F

from modules.fast_linear import FastLinear, fast_linear, stacked_linear


def mlp(in_dim: int, hidden: int, layers: int, out_dim: int, bias: bool = True) -> nn.Module:
    """A linear layer, or several with rectifiers between them; `bias`: whether the last one has one."""
    if layers == 1:
        return FastLinear(in_dim, out_dim, bias)
    middle = [layer for _ in range(layers - 2) for layer in (FastLinear(hidden, hidden), nn.ReLU())]
    return nn.Sequential(FastLinear(in_dim, hidden), nn.ReLU(), *middle, FastLinear(hidden, out_dim, bias))


def all_heads(heads: nn.ModuleList, inputs: th.Tensor) -> th.Tensor:
    """K networks of linear layers with rectifiers between them, on inputs `[N, D]` -> `[K, N, out]`."""
    linear = [[m for m in head.modules() if isinstance(m, nn.Linear)] for head in heads]
    first, *others = zip(*linear, strict=True)
    x = fast_linear(inputs, th.cat([layer.weight for layer in first]), _biases(first, th.cat))
    x = x.view(len(inputs), len(first), -1).transpose(0, 1)
    for layers in others:
        weight, bias = th.stack([layer.weight for layer in layers]).transpose(1, 2), _biases(layers, th.stack)
        x = stacked_linear(F.relu(x), weight, None if bias is None else bias.unsqueeze(1))
    return x


def _biases(layers: Sequence[nn.Linear], joined: Callable[[list[th.Tensor]], th.Tensor]) -> th.Tensor | None:
    """Of equal layers, which all have one or none."""
    return None if layers[0].bias is None else joined([layer.bias for layer in layers])
