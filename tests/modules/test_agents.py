"""Agents against networks written out by hand."""

import pytest
import torch as th

from helpers import fill, make_args
from modules.agents import REGISTRY, FFAgent, RNNAgent, RNNLayerNormAgent


def test_the_recurrent_agent_is_a_gru_between_two_layers():
    agent = RNNAgent(6, make_args(rnn_hidden_dim=5))
    fill(agent.parameters())
    w = agent.state_dict()
    gru = th.nn.GRU(5, 5)
    gru.load_state_dict({f"{name}_l0": w[f"rnn.{name}"] for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")})
    inputs, start = th.randn(7, 4, 6), th.randn(1, 4, 5)
    hidden, _ = gru(th.clamp(inputs @ w["fc1.weight"].T + w["fc1.bias"], min=0), start)
    expected = hidden @ w["fc2.weight"].T + w["fc2.bias"]
    outputs, states = agent.unroll(inputs, start)
    th.testing.assert_close(outputs, expected)
    th.testing.assert_close(states, hidden)
    h = start
    for t in range(7):
        q, h = agent(inputs[t], h)
        th.testing.assert_close(q, expected[t])


def test_names_of_the_weights_are_pymarls():
    names = set(RNNAgent(6, make_args()).state_dict())
    layers = {f"{layer}.{part}" for layer in ("fc1", "fc2") for part in ("weight", "bias")}
    assert names == layers | {f"rnn.{part}" for part in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")}


def test_the_feed_forward_agent():
    agent = FFAgent(6, make_args(rnn_hidden_dim=5))
    fill(agent.parameters())
    x, state = th.randn(4, 6), th.randn(4, 5)
    q, same = agent(x, state)
    w = agent.state_dict()
    for layer in ("fc1", "fc2"):
        x = th.clamp(x @ w[f"{layer}.weight"].T + w[f"{layer}.bias"], min=0)
    th.testing.assert_close(q, x @ w["fc3.weight"].T + w["fc3.bias"])
    assert th.equal(same, state)


def test_the_agent_with_layer_normalisation():
    agent = RNNLayerNormAgent(6, make_args(rnn_hidden_dim=5))
    fill(agent.parameters())
    w = agent.state_dict()

    def normalised(x, layer):
        deviation = ((x - x.mean(-1, keepdim=True)) ** 2).mean(-1, keepdim=True)
        centred = (x - x.mean(-1, keepdim=True)) / (deviation + 1e-5).sqrt()
        return centred * w[f"{layer}.weight"] + w[f"{layer}.bias"]

    inputs, start = th.randn(7, 4, 6), th.randn(4, 5)
    outputs, states = agent.unroll(inputs, start)
    h = start
    for t in range(7):
        x = th.clamp(normalised(inputs[t] @ w["fc1.weight"].T + w["fc1.bias"], "norm1"), min=0)
        q, after = agent(inputs[t], h)
        h = agent.rnn(x, h)
        th.testing.assert_close(after, h)
        th.testing.assert_close(q, normalised(h, "norm2") @ w["fc2.weight"].T + w["fc2.bias"])
        th.testing.assert_close(outputs[t], q)
        th.testing.assert_close(states[t], h)


@pytest.mark.parametrize("name", sorted(REGISTRY))
def test_hidden_states_start_at_zero(name):
    hidden = REGISTRY[name](6, make_args(rnn_hidden_dim=5)).init_hidden()
    assert hidden.shape == (1, 5)
    assert hidden.abs().sum() == 0
