"""The network of IQN, layer by layer in NumPy."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
import torch as th

from controllers.inputs import StepInputs
from helpers import make_args
from modules.agents import REGISTRY
from modules.unshared import unshare
from utils.errors import ConfigError

SHAPES = {"obs": (3,), "others": (2,)}


def make_agent(shapes=SHAPES, **changes):
    th.manual_seed(0)
    entry = REGISTRY.entry("iqn")
    args = make_args(**{**entry.defaults, "rnn_hidden_dim": 6, "head_dim": 5, "tau_features": 4, **changes})
    args.n_actions = 3
    return REGISTRY["iqn"](shapes, args)


def inputs_of(rows, seed=0, **pictures):
    generator = th.Generator().manual_seed(seed)
    rand = lambda *shape: th.rand(*shape, generator=generator)  # noqa: E731
    return StepInputs({"obs": rand(rows, 3), **{k: rand(rows, *s) for k, s in pictures.items()}}, rand(rows, 2))


def leaky(x):
    return np.where(x > 0, x, 0.01 * x)


def by_hand(agent, inputs, taus):
    """Outputs `[Q, N, A]`, one sample after another."""
    w = {key: value.double().numpy() for key, value in agent.state_dict().items()}
    layer = lambda name, x: w[f"{name}.weight"] @ x + w[f"{name}.bias"]  # noqa: E731
    found = np.zeros((*taus.shape, 3))
    for q, n in np.ndindex(*taus.shape):
        x = np.concatenate([inputs.observations["obs"][n], inputs.others[n]]).astype(float)
        x = leaky(layer("fc2", leaky(layer("fc1", x))))
        cosines = np.array([math.cos(math.pi * i * float(taus[q, n])) for i in (1, 2, 3, 4)])
        x = x * leaky(layer("embedding", cosines))
        advantage = layer("advantage2", leaky(layer("advantage1", x)))
        found[q, n] = layer("value2", leaky(layer("value1", x))) + advantage - advantage.mean()
    return found


def test_values_of_quantiles():
    agent, inputs, taus = make_agent(), inputs_of(2), th.tensor([[0.1, 0.7], [0.5, 0.2]])
    found = agent.quantiles_of(agent.encode(inputs), taus).detach()
    np.testing.assert_allclose(found, by_hand(agent, inputs, taus), rtol=1e-4, atol=1e-6)


def test_acting_goes_by_the_mean_of_mirrored_quantiles():
    agent, inputs = make_agent(acting_quantiles=6), inputs_of(2)
    th.manual_seed(4)
    found, hidden = agent(inputs, agent.init_hidden())
    th.manual_seed(4)
    low = (th.arange(3).unsqueeze(1) + th.rand(3, 2)) / 6
    expected = by_hand(agent, inputs, th.cat([low, 1 - low])).mean(axis=0)
    np.testing.assert_allclose(found.detach(), expected, rtol=1e-4, atol=1e-6)
    assert hidden.shape == (1, 6)


@pytest.mark.parametrize("distribution", ["quantiles", "categorical"])
def test_fixed_outputs_have_heads_of_their_number(distribution):
    agent = make_agent(distribution=distribution, quantiles=7, value_min=0.0, value_max=3.0)
    outputs = agent.quantiles_of(agent.encode(inputs_of(2)), None).detach()
    assert outputs.shape == (7, 2, 3)
    mean = agent(inputs_of(2), agent.init_hidden())[0].detach()
    if distribution == "quantiles":
        np.testing.assert_allclose(mean, outputs.mean(dim=0), rtol=1e-5)
    else:
        probs = outputs.exp() / outputs.exp().sum(dim=0)
        np.testing.assert_allclose(mean, (probs * th.linspace(0, 3, 7).view(-1, 1, 1)).sum(dim=0), rtol=1e-5)


def test_without_dueling_there_is_one_head():
    agent = make_agent(dueling=False)
    assert agent.value1 is None
    assert agent(inputs_of(2), agent.init_hidden())[0].shape == (2, 3)


def test_weights_are_orthogonal_and_scaled():
    agent = make_agent(rnn_hidden_dim=8)
    gain = math.sqrt(2 / (1 + 0.01**2))
    for layer, scale in ((agent.fc2, gain), (agent.embedding, gain * math.sqrt(2)), (agent.advantage2, 1.0)):
        weight = layer.weight.detach().double()
        small = weight @ weight.T if weight.size(0) <= weight.size(1) else weight.T @ weight
        np.testing.assert_allclose(small, scale**2 * np.eye(len(small)), atol=1e-5)
        assert not layer.bias.any()


@pytest.mark.parametrize("shape", [(1, 42, 42), (42, 42, 1)])
def test_pictures_pass_their_own_head(shape):
    agent = make_agent({"obs": (3,), "camera": shape, "others": (2,)})
    inputs = inputs_of(2, camera=shape)
    assert agent.encode(inputs).shape == (2, 32 * 2 * 2 + 6)
    picture = inputs.observations["camera"].view(2, 1, 42, 42)
    for layer in agent.convs["camera"]:
        picture = layer(picture)
    np.testing.assert_allclose(agent.encode(inputs)[:, :128].detach(), picture.detach(), atol=1e-5)


def test_layers_of_dqn():
    agent = make_agent({"camera": (4, 84, 84)}, picture_layers="dqn")
    shapes = [tuple(layer.weight.shape) for layer in agent.convs["camera"] if hasattr(layer, "weight")]
    assert shapes == [(32, 4, 8, 8), (64, 32, 4, 4), (64, 64, 3, 3)] and agent.advantage1.in_features == 3136


@pytest.mark.parametrize("separate", [False, True])
def test_means_of_noisy_heads_are_orthogonal_too(separate):
    agent = make_agent(noisy_std=0.5)
    if separate:
        unshare(agent, 2, "agents")
        agent.initialise()
    weights = agent.advantage2.weight_mu.detach().double().view(-1, 3, 5)
    assert len(weights) == (2 if separate else 1) and not agent.advantage2.bias_mu.any()
    for weight in weights:
        np.testing.assert_allclose(weight @ weight.T, np.eye(3), atol=1e-5)
    assert th.allclose(agent.advantage2.weight_sigma, th.tensor(0.5 / 5**0.5))


def test_only_pictures_and_small_ones():
    agent = make_agent({"camera": (1, 42, 42)})
    assert agent.encode(SimpleNamespace(observations={"camera": th.rand(2, 1, 42, 42)}, others=None)).shape == (2, 128)
    with pytest.raises(ConfigError, match="'camera' has 30 x 42 pixels; its layers need 34 at least"):
        make_agent({"camera": (1, 30, 42)})


def test_separate_weights_are_those_of_single_agents():
    agent = make_agent()
    unshare(agent, 2, "agents")
    agent.initialise(th.Generator().manual_seed(1))
    inputs, taus = inputs_of(4), th.rand(2, 4)
    found = agent.quantiles_of(agent.encode(inputs), taus)
    for i in range(2):
        single = make_agent()
        prefix = f"agents.{i}."
        own = {k.removeprefix(prefix): v for k, v in agent.state_dict().items() if k.startswith(prefix)}
        single.load_state_dict(own)
        part = StepInputs({"obs": inputs.observations["obs"][i::2]}, inputs.others[i::2])
        expected = single.quantiles_of(single.encode(part), taus[:, i::2])
        np.testing.assert_allclose(found[:, i::2].detach(), expected.detach(), atol=1e-5)
