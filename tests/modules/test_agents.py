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


def torchs(layer, w):
    """PyTorch's layer of 5 units, with the weights of an agent's cell."""
    made = layer(5, 5)
    made.load_state_dict({f"{name}_l0": w[f"rnn.{name}"] for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")})
    return made


def normalised(x, w, layer):
    """Layer normalisation written out, where the agent has it."""
    if f"norm{layer}.weight" not in w:
        return x
    centred = x - x.mean(-1, keepdim=True)
    deviation = centred.square().mean(-1, keepdim=True)
    return centred / (deviation + 1e-5).sqrt() * w[f"norm{layer}.weight"] + w[f"norm{layer}.bias"]


@pytest.mark.parametrize("use_rnn", [True, False])
@pytest.mark.parametrize(
    ("kind", "options"), [(RNNAgent, {}), (RNNLayerNormAgent, {}), (RNNAgent, {"layer_norm": True})]
)
def test_the_recurrent_agent_is_a_gru_or_a_layer_between_two_layers(kind, options, use_rnn):
    agent = kind(6, make_args(rnn_hidden_dim=5, use_rnn=use_rnn, **options))
    fill(agent.parameters())
    w = agent.state_dict()
    assert ("norm1.weight" in w) == ("norm2.weight" in w) == (kind is RNNLayerNormAgent or "layer_norm" in options)
    inputs, start = th.randn(7, 4, 6), th.randn(1, 4, 5)
    x = normalised(inputs @ w["fc1.weight"].T + w["fc1.bias"], w, 1).clamp(min=0)
    hidden = torchs(th.nn.GRU, w)(x, start)[0] if use_rnn else (x @ w["rnn.weight"].T + w["rnn.bias"]).clamp(min=0)
    expected = normalised(hidden, w, 2) @ w["fc2.weight"].T + w["fc2.bias"]
    outputs, states = unrolled(agent, inputs, start)
    th.testing.assert_close(outputs, expected)
    th.testing.assert_close(states, hidden)
    h = start
    for t in range(7):
        q, h = agent(inputs[t], h)
        th.testing.assert_close(q, expected[t])
        th.testing.assert_close(h, hidden[t])


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
    assert ("norm1.weight" in w) == ("norm2.weight" in w) == layer_norm
    inputs, start = th.randn(7, 4, 6), (th.randn(1, 4, 5), th.randn(1, 4, 5))
    x = normalised(inputs @ w["fc1.weight"].T + w["fc1.bias"], w, 1).clamp(min=0)
    hidden, (_, cell) = torchs(th.nn.LSTM, w)(x, start)
    encoded = agent.encode(RowInputs(inputs.flatten(0, 1)))
    outputs, (states, cells) = agent.sequence(encoded, [4] * 7, start)
    th.testing.assert_close(outputs.view(7, 4, -1), normalised(hidden, w, 2) @ w["fc2.weight"].T + w["fc2.bias"])
    th.testing.assert_close(states.view(7, 4, 5), hidden)
    th.testing.assert_close(cells.view(7, 4, 5)[-1:], cell)


@pytest.mark.parametrize("name", ["rnn", "noisy_rnn"])
def test_pymarl2s_options_of_the_recurrent_agent(name):
    wanted = {"use_layer_norm": True, "use_orthogonal": True, "gain": 0.3, "noisy_std": 0.5, "layer_norm": False}
    agent = REGISTRY[name](4, make_args(rnn_hidden_dim=6, **wanted))
    agent.eval()
    w = agent.state_dict()
    assert {"layer_norm.weight", "layer_norm.bias"} <= set(w) and "norm1.weight" not in w
    th.testing.assert_close(w["fc1.weight"].T @ w["fc1.weight"], th.eye(4))
    assert not w["fc1.bias"].any()
    if name == "rnn":
        outputs = w["fc2.weight"].shape[0]
        th.testing.assert_close(w["fc2.weight"] @ w["fc2.weight"].T, 0.09 * th.eye(outputs))
    fill(agent.parameters())
    w = agent.state_dict()
    inputs, start = th.randn(7, 4, 4), th.randn(1, 4, 6)
    cell = th.nn.GRU(6, 6)
    cell.load_state_dict({f"{part}_l0": w[f"rnn.{part}"] for part in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")})
    hidden = cell((inputs @ w["fc1.weight"].T + w["fc1.bias"]).clamp(min=0), start)[0]
    centred = hidden - hidden.mean(-1, keepdim=True)
    normal = centred / (centred.square().mean(-1, keepdim=True) + 1e-5).sqrt()
    last = "fc2.weight" if name == "rnn" else "fc2.weight_mu"
    expected = (normal * w["layer_norm.weight"] + w["layer_norm.bias"]) @ w[last].T
    found = unrolled(agent, inputs, start)[0] - w[last.replace("weight", "bias")]
    th.testing.assert_close(found, expected)


# those of entities, and with a controller of their own, have inputs of other forms: test_entity_controller.py,
# test_mat_controller.py, test_teams_of_entities.py; so have those that need to know what is what:
# test_agents_of_meaning.py
OF_ENTITIES = {"entity_attention"} | {name for name in REGISTRY if REGISTRY.entry(name).traits.get("controllers")}
OF_MEANING = {name for name in REGISTRY if REGISTRY.entry(name).traits.get("needs_meaning")}


@pytest.mark.parametrize("name", sorted(set(REGISTRY) - OF_ENTITIES - OF_MEANING))
def test_hidden_states_start_at_zero(name):
    shape = {"obs": (36, 36, 1)} if REGISTRY[name].takes_parts else 6
    for _, hidden in leaves(REGISTRY[name](shape, make_args(rnn_hidden_dim=5)).init_hidden()):
        assert hidden.shape == (1, hidden.size(1)) if name == "conv" else (1, 5)
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
