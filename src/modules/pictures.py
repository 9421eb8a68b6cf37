"""Convolutions over pictures `[height, width, channels]`, or `[channels, height, width]` where the first axis is the
shortest (`utils.tensors.schemes.channels_first`)."""

from collections.abc import Callable, Sequence
from math import prod

import torch as th
import torch.nn as nn

from utils.tensors.schemes import channels_first

# channels, width and stride of each layer
Layers = Sequence[tuple[int, int, int]]


def pixels(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The height and width of a picture."""
    return _first(shape)[1:]


def smallest(layers: Layers) -> int:
    """The fewest pixels of a side of which the layers leave one."""
    size = 1
    for _, width, stride in reversed(layers):
        size = (size - 1) * stride + width
    return size


def convolutions(
    shape: tuple[int, ...], layers: Layers, activation: Callable[[], nn.Module] = nn.ReLU
) -> nn.Sequential:
    """The layers without padding, each before an activation, and flattened."""
    parts, channels = [], _first(shape)[0]
    for filters, width, stride in layers:
        parts += [nn.Conv2d(channels, filters, width, stride), activation()]
        channels = filters
    return nn.Sequential(*parts, nn.Flatten())


def features(shape: tuple[int, ...], layers: Layers) -> int:
    """How many numbers the layers make of a picture."""
    return prod(convolutions(shape, layers)(th.zeros(1, *_first(shape))).shape)


def with_channels_first(shape: tuple[int, ...], x: th.Tensor) -> th.Tensor:
    """Pictures of this shape, `[P, channels, height, width]`."""
    return x if channels_first(shape) else x.permute(0, 3, 1, 2)


def _first(shape: tuple[int, ...]) -> tuple[int, ...]:
    return shape if channels_first(shape) else (shape[-1], *shape[:-1])
