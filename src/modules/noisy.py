"""Linear layers whose weights are noisy, so that a network explores by itself (NoisyNet, Fortunato et al. 2018)."""

from collections.abc import Callable
from typing import Any

import torch as th
import torch.nn as nn
import torch.nn.functional as F

from modules.unshared import KINDS, PerAgent, linear_of_rows


class _Noisy(nn.Module):
    """What a noisy layer and that of each agent share: weights, with a leading axis of agents or without."""

    weight_mu: th.Tensor
    weight_sigma: th.Tensor
    bias_mu: th.Tensor
    bias_sigma: th.Tensor
    noise_in: th.Tensor
    noise_out: th.Tensor

    @property
    def weight(self) -> th.Tensor:
        """The weights that `forward` takes, `[(n,) out, in]`: in eval mode their means."""
        if not self.training:
            return self.weight_mu
        # products of new tensors: drawing noise between a forward and its backward pass changes nothing that this needs
        noise = _scaled(self.noise_out).unsqueeze(-1) * _scaled(self.noise_in).unsqueeze(-2)
        return self.weight_mu + self.weight_sigma * noise

    @property
    def bias(self) -> th.Tensor:
        """The biases that `forward` takes, `[(n,) out]`: in eval mode their means."""
        return self.bias_mu + self.bias_sigma * _scaled(self.noise_out) if self.training else self.bias_mu

    def reset_noise(self) -> None:
        """Draw the noise again, of torch's global generator of the layer's device."""
        self.noise_in.normal_()
        self.noise_out.normal_()


class NoisyLinear(_Noisy):
    """`y = (mu_w + sigma_w * e_w) x + mu_b + sigma_b * e_b` with factorised Gaussian noise (equations 9 to 11).

    `e_w[j, i] = f(e_out[j]) f(e_in[i])`, `e_b[j] = f(e_out[j])`, `f(e) = sign(e) sqrt(|e|)`: one number for each input
    and output. The noise stays as it is until `reset_noise()`; in eval mode (`.eval()`) there is none. It is part of
    the `state_dict`, so that a resumed run has that of the run it resumes.

    Args:
        in_features, out_features: as of `nn.Linear`; inputs are `[..., in_features]`.
        std_init: sigma_0 of the paper; all sigmas start as `std_init / sqrt(in_features)`, and the means uniform within
            `1 / sqrt(in_features)` of 0.
    """

    def __init__(self, in_features: int, out_features: int, std_init: float = 0.5):
        super().__init__()
        self.in_features, self.out_features, self.std_init = in_features, out_features, std_init
        self.weight_mu = nn.Parameter(th.empty(out_features, in_features))
        self.weight_sigma = nn.Parameter(th.empty(out_features, in_features))
        self.bias_mu = nn.Parameter(th.empty(out_features))
        self.bias_sigma = nn.Parameter(th.empty(out_features))
        self.register_buffer("noise_in", th.empty(in_features))
        self.register_buffer("noise_out", th.empty(out_features))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Initial weights, and noise."""
        bound = self.in_features**-0.5
        for mean in (self.weight_mu, self.bias_mu):
            nn.init.uniform_(mean, -bound, bound)
        for sigma in (self.weight_sigma, self.bias_sigma):
            nn.init.constant_(sigma, self.std_init * bound)
        self.reset_noise()

    def forward(self, x: th.Tensor) -> th.Tensor:
        return F.linear(x, self.weight, self.bias)

    def extra_repr(self) -> str:
        return f"in_features={self.in_features}, out_features={self.out_features}, std_init={self.std_init}"


class AgentNoisyLinear(_Noisy, PerAgent):
    """`NoisyLinear` of each agent, with noise of its own."""

    def forward(self, x: th.Tensor) -> th.Tensor:
        return linear_of_rows(x, self.weight, self.bias, self.axis)


KINDS[NoisyLinear] = AgentNoisyLinear


def noisy_layers(network: nn.Module) -> list[Any]:
    """Those of a network."""
    return [layer for layer in network.modules() if isinstance(layer, _Noisy)]


def has_noise(network: Any) -> bool:
    """Whether a network has noisy layers."""
    return isinstance(network, nn.Module) and bool(noisy_layers(network))


def reset_noise(network: nn.Module) -> None:
    """Draw the noise of all noisy layers of a network again."""
    for layer in noisy_layers(network):
        layer.reset_noise()


def put_noise(network: nn.Module, draw: Callable[[tuple[int, ...]], th.Tensor]) -> None:
    """Give all noisy layers of a network the noise that `draw` returns for its shape, standard normal numbers.

    They are to learn with it: a test may have turned noise off.
    """
    for layer in noisy_layers(network):
        layer.train()
        for noise in (layer.noise_in, layer.noise_out):
            noise.copy_(draw(tuple(noise.shape)))


def _scaled(noise: th.Tensor) -> th.Tensor:
    return noise.sign() * noise.abs().sqrt()
