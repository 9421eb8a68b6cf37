"""The networks of a learner and its controller, by name."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch.nn as nn

TARGET = "target"


def networks_of(learner: Any, mac: Any) -> Iterator[tuple[str, nn.Module]]:
    """The networks that are attributes of the two, by the names of these, the controller's first.

    Target networks, in attributes whose names contain "target", are left out.
    """
    for owner in (mac, learner):
        for name, value in vars(owner).items():
            if TARGET not in name:
                yield from ((key, one) for key, one in named(name, value) if isinstance(one, nn.Module))


def named(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """An attribute's value; those of a dict of them, by their own names."""
    yield from ((str(key), one) for key, one in value.items()) if isinstance(value, Mapping) else ((name, value),)


@contextmanager
def at_rest(*networks: nn.Module) -> Iterator[None]:
    """In this block, leave out the gradients of these networks' weights, which the loss of another does not need."""
    parameters = [weight for network in networks for weight in network.parameters()]
    for parameter in parameters:
        parameter.requires_grad_(False)
    try:
        yield
    finally:
        for parameter in parameters:
            parameter.requires_grad_(True)
