"""Noisy linear layers: the paper's equations by hand, and when noise is drawn."""

import numpy as np
import torch as th
import torch.nn as nn

from modules.noisy import NoisyLinear, reset_noise
from modules.unshared import FIRST, rows_in, unshare

N, IN, OUT = 3, 4, 2


def by_hand(layer, x):
    """Equations 9 to 11, one weight after another."""
    w = {key: value.double().numpy() for key, value in layer.state_dict().items()}
    f = lambda e: np.sign(e) * np.sqrt(abs(e))  # noqa: E731
    y = np.zeros(OUT)
    for j in range(OUT):
        for i in range(IN):
            noise = f(w["noise_in"][i]) * f(w["noise_out"][j])
            y[j] += (w["weight_mu"][j, i] + w["weight_sigma"][j, i] * noise) * x[i]
        y[j] += w["bias_mu"][j] + w["bias_sigma"][j] * f(w["noise_out"][j])
    return y


def test_outputs_and_initial_weights():
    th.manual_seed(0)
    layer, x = NoisyLinear(IN, OUT, std_init=0.6), th.randn(5, IN)
    np.testing.assert_allclose(layer(x).detach(), [by_hand(layer, row.numpy()) for row in x], rtol=1e-5, atol=1e-6)
    assert (layer.weight_sigma == 0.3).all() and (layer.bias_sigma == 0.3).all()
    assert layer.weight_mu.abs().max() <= 0.5 and layer.bias_mu.abs().max() <= 0.5


def test_noise_stays_until_it_is_drawn_again_and_evaluation_has_none():
    layer, x = NoisyLinear(IN, OUT), th.ones(1, IN)
    outputs, noise = layer(x), layer.noise_in.clone()
    assert th.equal(outputs, layer(x))
    layer.reset_noise()
    assert not th.isclose(outputs, layer(x)).any() and not th.isclose(noise, layer.noise_in).any()
    # noise drawn before the backward pass is not that of the forward pass
    outputs.sum().backward()
    mean = nn.functional.linear(x, layer.weight_mu, layer.bias_mu)
    assert th.equal(layer.eval()(x), mean) and not th.isclose(outputs, mean).any()


def test_gradients_reach_means_and_sigmas():
    layer, x = NoisyLinear(IN, OUT), th.arange(1.0, IN + 1)
    noise = layer.noise_out.sign() * layer.noise_out.abs().sqrt()
    from_inputs = layer.noise_in.sign() * layer.noise_in.abs().sqrt()
    layer(x).sum().backward()
    assert th.allclose(layer.weight_mu.grad, x.expand(OUT, IN)) and th.allclose(layer.bias_sigma.grad, noise)
    assert th.allclose(layer.weight_sigma.grad, noise[:, None] * from_inputs * x)


def test_each_agent_has_weights_and_noise_of_its_own():
    network = nn.Sequential(NoisyLinear(IN, OUT))
    unshare(network, N, "agents")
    reset_noise(network)
    x, state = th.randn(5, N, IN), network.state_dict()
    found, (turned,) = network(x), network
    rows_in(network, FIRST)
    assert th.allclose(turned(x.transpose(0, 1)).transpose(0, 1), found, atol=1e-6)
    for i in range(N):
        layer, prefix = NoisyLinear(IN, OUT), f"agents.{i}.0."
        layer.load_state_dict({k.removeprefix(prefix): w for k, w in state.items() if k.startswith(prefix)})
        assert th.allclose(layer(x[:, i]), found[:, i], atol=1e-6)
    other = nn.Sequential(NoisyLinear(IN, OUT))
    unshare(other, N, "agents")
    other.load_state_dict(state)
    rows_in(network, -2)
    assert th.equal(other(x), network(x))
