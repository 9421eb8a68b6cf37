"""Critics of actions: several estimates at once are as many networks."""

import pytest
import torch as th

from modules.critics.action_values import Layers


@pytest.mark.parametrize("sets", [1, 3])
def test_the_estimates_are_independent_networks(sets):
    layers, x = Layers([4, 6, 5, 2], 2, sets, None), th.randn(sets, 7, 4, requires_grad=True)
    expected = th.empty(2, sets, 7, 2)
    for e in range(2):
        for s in range(sets):
            y = x[s]
            for number, (weight, bias) in enumerate(zip(layers.weights, layers.biases, strict=True)):
                y = (y.relu() if number else y) @ weight[e, s] + bias[e, s]
            expected[e, s] = y
    found = layers(x)
    th.testing.assert_close(found, expected)
    th.testing.assert_close(layers(x, slice(1)), expected[:1])
    found[1].sum().backward()
    assert not layers.weights[0].grad[0].any()
    assert layers.weights[0].grad[1].any()


def test_first_weights():
    th.manual_seed(0)
    layers = Layers([100, 400, 300, 1], 2, 1, 0.003)
    for parameters in (layers.weights, layers.biases):
        bounds = [parameter.detach().abs().max().item() for parameter in parameters]
        assert bounds[:2] == [pytest.approx(0.1, rel=0.05), pytest.approx(0.05, rel=0.05)]
        assert bounds[2] <= 0.003
    assert Layers([100, 400, 1], 2, 1, None).weights[1].abs().max() > 0.04
