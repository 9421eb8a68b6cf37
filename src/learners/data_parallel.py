"""Several GPUs for the learner's networks, by torch.nn.parallel: the same networks, whose weights keep their names."""

from typing import Any

import torch as th
import torch.nn as nn


def parallel_devices(args: Any) -> list[int]:
    """The GPUs that share the learner's forward passes; empty unless `data_parallel` is on and there are several."""
    if not args.data_parallel or not str(args.device).startswith("cuda"):
        return []
    count = th.cuda.device_count()
    return list(range(count)) if count > 1 else []


def in_parallel(network: Any, inputs: tuple, devices: list[int]) -> Any:
    """`network(*inputs)`, its rows divided among the devices; gradients come back to the network's own weights.

    Rows are divided along the first axis that is long enough, of the first two. What is no network of tensors, such as
    the unroll of agents over a batch, is computed on one device.
    """
    axis = _axis(inputs, len(devices)) if isinstance(network, nn.Module) else None
    if axis is None:
        return network(*inputs)
    return nn.parallel.data_parallel(network, inputs, device_ids=devices, dim=axis)


def _axis(inputs: tuple, parts: int) -> int | None:
    if parts < 2 or not inputs or not all(isinstance(x, th.Tensor) for x in inputs):
        return None
    for axis in (0, 1):
        sizes = {x.size(axis) if x.dim() > axis else 0 for x in inputs}
        if len(sizes) == 1 and sizes.pop() >= parts:
            return axis
    return None
