"""How large the weights and gradients of a learner's networks are, as histograms (`utils.monitoring`)."""

from collections.abc import Iterator
from typing import Any

import torch as th

from learners.networks import networks_of
from utils.monitoring import histogram


def keep_histograms(learner: Any, mac: Any, team: str = "") -> None:
    """Count the weights of each tensor, and its gradients of the last update, where it has some.

    Args:
        team: its name, where there are several.
    """
    for name, tensor in _tensors_of(learner, mac):
        path = "/".join(filter(None, (team, name)))
        histogram(f"weights/{path}", tensor)
        if tensor.grad is not None:
            histogram(f"gradients/{path}", tensor.grad)


def _tensors_of(learner: Any, mac: Any) -> Iterator[tuple[str, th.nn.Parameter]]:
    """The trainable tensors of their networks, each once, such as "mixer.hyper_b.weight"."""
    seen: set[int] = set()
    for network_name, network in networks_of(learner, mac):
        for name, tensor in network.named_parameters():
            if tensor.requires_grad and id(tensor) not in seen:
                seen.add(id(tensor))
                yield f"{network_name}.{name}", tensor
