"""Several GPUs for the learner's networks, by torch.nn.parallel: the same networks, whose weights keep their names."""

from collections.abc import Mapping
from typing import Any

import torch as th
import torch.nn as nn

from utils.tensors.devices import card_of, cards

# parts whose networks take more than rows of numbers
UNDIVIDED = {"learner": ("iqn_learner",), "mac": ("entity_mac",)}


def parallel_devices(args: Any) -> list[int]:
    """The GPUs that share the learner's forward passes; empty unless `data_parallel` is on and there are several.

    The first is the learner's own, which has the networks' weights.
    """
    own = card_of(args.device) if args.data_parallel else None
    if own is None or (count := cards()) < 2:
        return []
    return [own, *(card for card in range(count) if card != own)]


def undivided(config: Mapping[str, Any]) -> str:
    """The part of a config because of which nothing is divided; empty if something is."""
    for key, names in UNDIVIDED.items():
        if config[key] in names and not config["mixer"]:
            return f"{key}={config[key]}"
    return ""


def in_parallel(network: Any, inputs: tuple, devices: list[int]) -> Any:
    """`network(*inputs)`, its rows divided among the devices; gradients come back to the network's own weights.

    Rows are divided along the first axis or, where that has one row, along the second. What is no network of tensors,
    such as the unroll of agents over a batch, divides parts of its own (`utils.tensors.divided`).
    """
    axis = _axis(inputs, len(devices)) if isinstance(network, nn.Module) else None
    if axis is None:
        return network(*inputs)
    return nn.parallel.data_parallel(network, inputs, device_ids=devices, dim=axis)


def _axis(inputs: tuple, parts: int) -> int | None:
    if parts < 2 or not inputs or not all(isinstance(x, th.Tensor) for x in inputs):
        return None
    axis = 1 if all(x.dim() > 1 and x.size(0) == 1 for x in inputs) else 0
    sizes = {x.size(axis) for x in inputs}
    return axis if len(sizes) == 1 and sizes.pop() >= parts else None
