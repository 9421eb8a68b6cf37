"""Initial weights."""

import torch.nn as nn

# of layers before a rectifier
RELU_GAIN = 2**0.5


def orthogonal(network: nn.Module, last_gain: float, gain: float = RELU_GAIN) -> None:
    """Orthogonal matrices and zero biases in place of a network's weights (Saxe et al. 2014).

    Those of linear layers are scaled by `gain`, and of the last one by `last_gain`: a small one starts a policy near
    uniform (Andrychowicz et al. 2021). Recurrent ones are not scaled.
    """
    layers = [module for module in network.modules() if isinstance(module, nn.Linear)]
    for layer in layers:
        nn.init.orthogonal_(layer.weight, last_gain if layer is layers[-1] else gain)
        if layer.bias is not None:
            nn.init.zeros_(layer.bias)
    for module in network.modules():
        if isinstance(module, nn.RNNCellBase):
            for name, weight in module.named_parameters(recurse=False):
                nn.init.orthogonal_(weight) if name.startswith("weight") else nn.init.zeros_(weight)
