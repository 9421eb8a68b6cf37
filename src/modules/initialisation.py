"""Initial weights."""

from typing import Any

import torch as th
import torch.nn as nn

from modules.noisy import AgentNoisyLinear, NoisyLinear
from modules.unshared import AgentGRUCell, AgentLinear, AgentLSTMCell

# of layers before a rectifier
RELU_GAIN = 2**0.5


def orthogonal_layer(layer: Any, gain: float, generator: th.Generator | None = None) -> None:
    """An orthogonal matrix, or that of each agent, scaled by `gain`, and biases of 0.

    Args:
        layer: linear or a convolution; of a noisy layer, it is the means that are set.
        generator: of the random numbers; None: torch's global one.
    """
    noisy = isinstance(layer, NoisyLinear | AgentNoisyLinear)
    weights, bias = (layer.weight_mu, layer.bias_mu) if noisy else (layer.weight, layer.bias)
    for weight in _matrices(weights):
        nn.init.orthogonal_(weight, gain, generator)
    if bias is not None:
        nn.init.zeros_(bias)


def orthogonal(network: nn.Module, last_gain: float, gain: float = RELU_GAIN) -> None:
    """Orthogonal matrices and zero biases in place of a network's weights (Saxe et al. 2014).

    Those of linear layers and convolutions are scaled by `gain`, and of the last one by `last_gain`: a small one starts
    a policy near uniform (Andrychowicz et al. 2021). Recurrent ones are not scaled.
    """
    layers = [module for module in network.modules() if isinstance(module, nn.Conv2d | nn.Linear | AgentLinear)]
    for layer in layers:
        orthogonal_layer(layer, last_gain if layer is layers[-1] else gain)
    for module in network.modules():
        if isinstance(module, nn.RNNCellBase | AgentGRUCell | AgentLSTMCell):
            for name, weight in module.named_parameters(recurse=False):
                if name.startswith("bias"):
                    nn.init.zeros_(weight)
                    continue
                for matrix in _matrices(weight):
                    nn.init.orthogonal_(matrix)


def _matrices(weight: th.Tensor) -> list[th.Tensor]:
    """One, of a convolution's filters too, or that of each agent."""
    return [weight.data] if weight.dim() in (2, 4) else list(weight.data)
