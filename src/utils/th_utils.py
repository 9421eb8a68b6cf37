"""PyMARL2's small helpers for networks."""

from collections.abc import Callable, Iterable

import torch as th
import torch.nn as nn


def get_parameters_num(param_list: Iterable[th.Tensor]) -> str:
    """How many numbers these parameters have, in thousands: "12.345K"."""
    return f"{sum(parameter.numel() for parameter in param_list) / 1000}K"


def init(module: nn.Module, weight_init: Callable, bias_init: Callable, gain: float = 1) -> nn.Module:
    """Fill a layer's weight by `weight_init(weight, gain=gain)` and its bias by `bias_init(bias)`; returns it."""
    weight_init(module.weight.data, gain=gain)
    bias_init(module.bias.data)
    return module


def orthogonal_init_(m: nn.Module, gain: float = 1) -> None:
    """Give a linear layer an orthogonal weight, scaled by `gain`, and a bias of zeros; leave any other module alone."""
    if isinstance(m, nn.Linear):
        init(m, nn.init.orthogonal_, nn.init.zeros_, gain=gain)


def clip_by_tensor(t: th.Tensor, t_min: th.Tensor, t_max: th.Tensor) -> th.Tensor:
    """`t` between the bounds, element by element, in float32; the lower one is applied first."""
    return t.float().clamp(min=t_min.float()).clamp(max=t_max.float())
