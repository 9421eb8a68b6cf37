"""Agents against networks written out by hand."""

import pytest
import torch as th

from controllers.inputs import RowInputs
from helpers import fill, make_args
from modules.agents import REGISTRY, FFAgent, LSTMAgent, RNNAgent, RNNLayerNormAgent
from modules.agents.agent import Agent
from utils.tensors.tensor_trees import leaves


def unrolled(agent, inputs, start):
    """Inputs `[T, N, I]` -> outputs and hidden states `[T, N, ...]`, of all steps at once."""
    length, rows, _ = inputs.shape
    encoded = agent.encode(RowInputs(inputs.flatten(0, 1)))
    return [x.view(length, rows, -1) for x in agent.sequence(encoded, [rows] * length, start)]


def test_the_recurrent_agent_is_a_gru_between_two_layers():
    agent = RNNAgent(6, make_args(rnn_hidden_dim=5))
    fill(agent.parameters())
    w = agent.state_dict()
    gru = th.nn.GRU(5, 5)
    gru.load_state_dict({f"{name}_l0": w[f"rnn.{name}"] for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")})
    inputs, start = th.randn(7, 4, 6), th.randn(1, 4, 5)
    hidden, _ = gru(th.clamp(inputs @ w["fc1.weight"].T + w["fc1.bias"], min=0), start)
    expected = hidden @ w["fc2.weight"].T + w["fc2.bias"]
    outputs, states = unrolled(agent, inputs, start)
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


@pytest.mark.parametrize("hidden_layers", [1, 2, 3])
def test_the_feed_forward_agent(hidden_layers):
    agent = FFAgent(6, make_args(rnn_hidden_dim=5, hidden_layers=hidden_layers))
    fill(agent.parameters())
    x, state = th.randn(4, 6), th.randn(4, 5)
    q, same = agent(x, state)
    w = agent.state_dict()
    for layer in [f"fc{i + 1}" for i in range(hidden_layers)]:
        x = th.clamp(x @ w[f"{layer}.weight"].T + w[f"{layer}.bias"], min=0)
    last = f"fc{hidden_layers + 1}"
    th.testing.assert_close(q, x @ w[f"{last}.weight"].T + w[f"{last}.bias"])
    assert th.equal(same, state)


@pytest.mark.parametrize("layer_norm", [False, True])
def test_the_lstm_agent_is_an_lstm_between_two_layers(layer_norm):
    agent = LSTMAgent(6, make_args(rnn_hidden_dim=5, layer_norm=layer_norm))
    fill(agent.parameters())
    w = agent.state_dict()
    lstm = th.nn.LSTM(5, 5)
    lstm.load_state_dict({f"{name}_l0": w[f"rnn.{name}"] for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")})
    norm = [
        (lambda x, k=k: th.nn.functional.layer_norm(x, (5,), w[f"norm{k}.weight"], w[f"norm{k}.bias"]))
        if layer_norm
        else (lambda x: x)
        for k in (1, 2)
    ]
    inputs, start = th.randn(7, 4, 6), (th.randn(1, 4, 5), th.randn(1, 4, 5))
    hidden, (_, cell) = lstm(norm[0](inputs @ w["fc1.weight"].T + w["fc1.bias"]).clamp(min=0), start)
    encoded = agent.encode(RowInputs(inputs.flatten(0, 1)))
    outputs, (states, cells) = agent.sequence(encoded, [4] * 7, start)
    th.testing.assert_close(outputs.view(7, 4, -1), norm[1](hidden) @ w["fc2.weight"].T + w["fc2.bias"])
    th.testing.assert_close(states.view(7, 4, 5), hidden)
    th.testing.assert_close(cells.view(7, 4, 5)[-1:], cell)


@pytest.mark.parametrize(("kind", "options"), [(RNNLayerNormAgent, {}), (RNNAgent, {"layer_norm": True})])
def test_the_recurrent_agent_with_layer_normalisation(kind, options):
    agent = kind(6, make_args(rnn_hidden_dim=5, **options))
    fill(agent.parameters())
    w = agent.state_dict()

    def normalised(x, layer):
        deviation = ((x - x.mean(-1, keepdim=True)) ** 2).mean(-1, keepdim=True)
        centred = (x - x.mean(-1, keepdim=True)) / (deviation + 1e-5).sqrt()
        return centred * w[f"{layer}.weight"] + w[f"{layer}.bias"]

    inputs, start = th.randn(7, 4, 6), th.randn(4, 5)
    outputs, states = unrolled(agent, inputs, start)
    h = start
    for t in range(7):
        x = th.clamp(normalised(inputs[t] @ w["fc1.weight"].T + w["fc1.bias"], "norm1"), min=0)
        q, after = agent(inputs[t], h)
        h = agent.rnn(x, h)
        th.testing.assert_close(after, h)
        th.testing.assert_close(q, normalised(h, "norm2") @ w["fc2.weight"].T + w["fc2.bias"])
        th.testing.assert_close(outputs[t], q)
        th.testing.assert_close(states[t], h)


# those of entities have inputs of other forms: tests/controllers/test_entity_controller.py, test_teams_of_entities.py
OF_ENTITIES = {"rogue_net", "entity_attention"}


@pytest.mark.parametrize("name", sorted(set(REGISTRY) - OF_ENTITIES))
def test_hidden_states_start_at_zero(name):
    shape = {"obs": (36, 36, 1)} if REGISTRY[name].takes_parts else 6
    for _, hidden in leaves(REGISTRY[name](shape, make_args(rnn_hidden_dim=5)).init_hidden()):
        assert hidden.shape == (1, 5)
        assert hidden.abs().sum() == 0


class _Shifted:
    def forward(self, inputs, hidden_state):
        q, h = super().forward(inputs, hidden_state)
        return q + 1, h


class _ByMixin(_Shifted, RNNAgent):
    pass


class _ItsChild(_ByMixin):
    pass


class _Caught(_ByMixin):
    """Says again what all steps at once are."""

    def sequence(self, encoded, sizes, hidden_state):
        q, h = super().sequence(encoded, sizes, hidden_state)
        return q + 1, h


class _Declared(_ByMixin):
    supports_packing = True


class _StepByStep(Agent):
    def forward(self, inputs, hidden_state):
        return inputs, hidden_state


@pytest.mark.parametrize(
    ("agent", "expected"),
    [
        (RNNAgent, True),
        (FFAgent, True),
        (RNNLayerNormAgent, True),
        (_ByMixin, False),
        (_ItsChild, False),
        (_Caught, True),
        (_Declared, True),
        (_StepByStep, False),
        (Agent, False),
    ],
)
def test_an_agent_that_changes_a_step_but_not_the_sequence_is_not_unrolled_at_once(agent, expected):
    assert agent.supports_packing is expected


@pytest.mark.parametrize("name", ["rnn", "rnn_layernorm"])
def test_without_use_rnn_a_layer_stands_in_the_place_of_the_gru(name):
    agent = REGISTRY[name](6, make_args(rnn_hidden_dim=5, use_rnn=False))
    fill(agent.parameters())
    w = agent.state_dict()
    assert w["rnn.weight"].shape == (5, 5)
    norm = (
        (lambda x, i: th.nn.functional.layer_norm(x, (5,), w[f"norm{i}.weight"], w[f"norm{i}.bias"]))
        if ("norm1.weight" in w)
        else (lambda x, i: x)
    )
    inputs, start = th.randn(7, 4, 6), th.randn(1, 4, 5)
    x = norm(inputs @ w["fc1.weight"].T + w["fc1.bias"], 1).relu()
    hidden = (x @ w["rnn.weight"].T + w["rnn.bias"]).relu()
    expected = norm(hidden, 2) @ w["fc2.weight"].T + w["fc2.bias"]
    outputs, states = unrolled(agent, inputs, start)
    th.testing.assert_close(outputs, expected)
    th.testing.assert_close(states, hidden)
    q, h = agent(inputs[3], start)
    th.testing.assert_close(q, expected[3])
    th.testing.assert_close(h, hidden[3])
