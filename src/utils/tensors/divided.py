"""Rows of a network's inputs, divided among GPUs by torch.nn.parallel.

Each GPU computes some of the rows with a replica of the network; gradients add up in the network's own weights, whose
names stay. Networks ask for it here (`divided`, `divided_sequences`), and it happens within `dividing` only: while a
learner computes, not while somebody acts.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import accumulate
from typing import Any

import torch as th
import torch.nn as nn

from utils.tensors.tensor_trees import Tree, is_tree, map_tree

# threads of replicas do not inherit it, so that nothing is divided twice
_devices: ContextVar[Sequence] = ContextVar("devices", default=())


@contextmanager
def dividing(devices: Sequence) -> Iterator[None]:
    """Divide rows among these devices; none if there are fewer than two."""
    token = _devices.set(devices)
    try:
        yield
    finally:
        _devices.reset(token)


def is_dividing() -> bool:
    """Whether rows are divided now."""
    return len(_devices.get()) > 1


def divided(network: nn.Module, *inputs: Any, axis: int = 0, out_axis: int = 0, together: int = 1) -> Any:
    """`network(*inputs)`, whose rows are independent.

    Args:
        inputs: tensors, or trees of them, with the rows in `axis`, or in it and the next one; others, such as slices,
            go to every replica as they are. The first one decides: anything but a tensor is not divided.
        out_axis: the rows in the output, a tensor or a tree of tensors.
        together: rows that are not parted, those of the agents of a step.
    """
    rows = inputs[0].size(axis) if isinstance(inputs[0], th.Tensor) else 0
    parts = _parts(rows, together)
    if len(parts) < 2:
        return network(*inputs)
    inputs = tuple(_flat(value, axis, rows) for value in inputs)
    given = [[_part(value, axis, first, stop, device) for value in inputs] for device, first, stop in parts]
    return nn.parallel.gather(_computed(network, given, parts), parts[0][0], out_axis)


def divided_sequences(
    agent: Any, encoded: th.Tensor, sizes: list[int], hidden: Tree, together: int = 1
) -> tuple[th.Tensor, Tree]:
    """`agent.sequence(encoded, sizes, hidden)` (`modules.agents.agent`), each sequence on one device.

    Args:
        hidden: leaves `[N, ...]`, or `[N / n, n, ...]` of n agents.
        together: sequences that are not parted.
    """
    parts = _parts(sizes[0], together)
    if len(parts) < 2:
        return agent.sequence(encoded, sizes, hidden)
    hidden = _flat(hidden, 0, sizes[0])
    begins, places, given = [0, *accumulate(sizes)], [], []
    for device, first, stop in parts:
        kept = [min(size, stop) - first for size in sizes if size > first]
        steps = [th.arange(begin + first, begin + first + k) for begin, k in zip(begins, kept, strict=False)]
        places.append(th.cat(steps).to(encoded.device))
        given.append((encoded[places[-1]].to(device), kept, _part(hidden, 0, first, stop, device)))
    outputs = nn.parallel.gather(_computed(_Sequences(agent), given, parts), parts[0][0])
    order = th.cat(places).argsort()
    return outputs[0][order], map_tree(lambda x: x[order], outputs[1])


class _Sequences(nn.Module):
    def __init__(self, agent: Any):
        super().__init__()
        self.agent: Any = agent

    def forward(self, encoded: th.Tensor, sizes: list[int], hidden: Tree) -> tuple[th.Tensor, Tree]:
        return self.agent.sequence(encoded, sizes, hidden)


def _parts(rows: int, together: int) -> list[tuple[Any, int, int]]:
    """A device, its first row and the one behind its last; each gets as many as the others, as far as possible."""
    devices, units = _devices.get(), rows // together
    if len(devices) < 2 or units < len(devices):
        return []
    size = -(-units // len(devices)) * together
    return [
        (device, first, min(first + size, rows)) for device, first in zip(devices, range(0, rows, size), strict=False)
    ]


def _flat(value: Any, axis: int, rows: int) -> Any:
    """Tensors with all rows in one axis."""
    if not is_tree(value):
        return value
    return map_tree(lambda x: x if x.size(axis) == rows else x.flatten(axis, axis + 1), value)


def _part(value: Any, axis: int, first: int, stop: int, device: Any) -> Any:
    if not is_tree(value):
        return value
    return map_tree(lambda x: x.narrow(axis, first, stop - first).to(device), value)


def _computed(network: nn.Module, given: list, parts: list[tuple[Any, int, int]]) -> list[Any]:
    devices = [device for device, *_ in parts]
    replicas = nn.parallel.replicate(network, devices, detach=not th.is_grad_enabled())
    return nn.parallel.parallel_apply(replicas, given, devices=devices)
