"""Weights of each agent: as many separate networks would compute, by the same names as in EPyMARL."""

import copy

import pytest
import torch as th

import controllers.basic_controller as controller
from controllers.basic_controller import BasicMAC
from controllers.contract import unroll_by_steps
from controllers.inputs import RowInputs, StepInputs
from controllers.policy_controller import PolicyMAC
from controllers.unroll import BatchUnroll
from helpers import fill, make_args, random_batch
from modules.agents import REGISTRY
from modules.agents.agent import Agent
from modules.agents.cnn_agent import CNNAgent
from modules.critics import REGISTRY as critics
from modules.unshared import unshare, weights_of
from utils.errors import ConfigError
from utils.tensors.tensor_trees import leaves, map_tree

N, ROWS = 3, 4


def separate(agent, shape=6):
    """A separate network for each agent, with the weights of the unshared one."""
    state = agent.state_dict()
    found = []
    for i in range(N):
        network = type(agent)(shape, agent.args)
        prefix = f"agents.{i}."
        network.load_state_dict({k.removeprefix(prefix): v for k, v in state.items() if k.startswith(prefix)})
        found.append(network)
    return found


def of_agent(tree, i):
    return map_tree(lambda x: x.reshape(-1, N, x.size(-1))[:, i], tree)


@pytest.mark.parametrize("changes", [{}, {"layer_norm": True}, {"use_rnn": False}], ids=str)
# rogue_net takes frames of entities, and one network acts for all of them
@pytest.mark.parametrize(
    "name",
    # those that hear each other: tests/modules/test_messages.py; dcg and rnn_cds share layers, the memory of rode has
    # numbers of roles (tests/learners/test_rode_learner.py), and rnn_maven sees agents' numbers by their rows
    sorted(
        name
        for name in REGISTRY
        if not (
            name in ("rogue_net", "dcg", "rode", "rnn_maven", "rnn_cds")
            or REGISTRY[name].takes_parts
            or REGISTRY.entry(name).traits.get("communicates")
        )
    ),
)
def test_every_agent_computes_as_separate_networks_do(name, changes):
    agent = REGISTRY[name](6, make_args(n_agents=N, rnn_hidden_dim=5, **changes))
    unshare(agent, N, "agents")
    fill(agent.parameters())
    sizes = [ROWS * N, ROWS * N, 2 * N]
    x = th.randn(sum(sizes), 6, requires_grad=True)
    start = map_tree(lambda h: th.randn(ROWS * N, h.size(-1)), agent.init_hidden())
    outputs, memory = agent.sequence(agent.encode(RowInputs(x)), sizes, start)
    outputs.sum().backward()
    for i, network in enumerate(separate(agent)):
        mine = x.detach().view(-1, N, 6)[:, i]
        expected, after = network.sequence(
            network.encode(RowInputs(mine)), [size // N for size in sizes], of_agent(start, i)
        )
        th.testing.assert_close(of_agent(outputs.detach(), i), expected)
        for (_, one), (_, other) in zip(leaves(of_agent(memory, i)), leaves(after), strict=True):
            th.testing.assert_close(one.detach(), other.detach())
        expected.sum().backward()
        for path, weight in network.named_parameters():
            th.testing.assert_close(agent.get_parameter(path).grad[i], weight.grad)
        step, _ = network(mine[:ROWS], of_agent(start, i))
        th.testing.assert_close(step, expected[:ROWS])
    together, _ = agent(x.detach()[: ROWS * N], start)
    th.testing.assert_close(together, outputs[: ROWS * N].detach())


def test_every_agent_sees_pictures_by_separate_networks():
    shape = {"obs": (36, 40, 2)}
    agent = CNNAgent(shape, make_args(n_agents=N, rnn_hidden_dim=5))
    unshare(agent, N, "agents")
    fill(agent.parameters())
    pictures = th.rand(2 * N, 36, 40, 2)
    features = agent.encode(StepInputs({"obs": pictures}, None))
    features.sum().backward()
    for i, network in enumerate(separate(agent, shape)):
        expected = network.encode(StepInputs({"obs": pictures.view(2, N, 36, 40, 2)[:, i]}, None))
        th.testing.assert_close(of_agent(features, i), expected, rtol=1e-4, atol=1e-4)
        expected.sum().backward()
        for path, weight in network.named_parameters():
            if weight.grad is not None:
                th.testing.assert_close(agent.get_parameter(path).grad[i], weight.grad, rtol=1e-4, atol=1e-3)


def test_names_of_the_weights_are_epymarls_and_they_are_loaded():
    agent = REGISTRY["rnn"](6, make_args(n_agents=2, rnn_hidden_dim=5))
    shared = {f"agents.{i}.{key}" for i in range(2) for key in agent.state_dict()}
    unshare(agent, 2, "agents")
    assert set(agent.state_dict()) == shared
    other = copy.deepcopy(agent)
    fill(agent.parameters())
    other.load_state_dict(agent.state_dict())
    for one, two in zip(agent.parameters(), other.parameters(), strict=True):
        assert th.equal(one, two)
    with pytest.raises(RuntimeError, match=r"Missing key.*fc1\.weight"):
        other.load_state_dict({k: v for k, v in agent.state_dict().items() if k != "agents.1.fc1.weight"})


def test_agents_start_from_different_weights():
    agent = REGISTRY["rnn"](6, make_args(n_agents=2))
    unshare(agent, 2, "agents")
    assert not th.equal(agent.fc1.weight[0], agent.fc1.weight[1])


class Odd(th.nn.Module):
    def __init__(self):
        super().__init__()
        self.table = th.nn.Embedding(3, 4)


def test_a_layer_of_another_kind_is_refused_by_name():
    with pytest.raises(TypeError, match=r"Odd.table \(Embedding\)"):
        unshare(Odd(), 2, "agents")


@pytest.mark.parametrize("kind", [BasicMAC, PolicyMAC])
def test_controllers_unroll_as_they_act(kind):
    batch = random_batch([3, 5, 2], 6)
    args = make_args(share_params=False, rnn_hidden_dim=8, critic="own")
    mac = kind(batch.scheme, batch.groups, args)
    fill(mac.parameters())
    unroll = BatchUnroll(batch, mac)
    assert unroll.packed
    expected, _ = unroll_by_steps(mac, batch)
    found = unroll.spread(unroll.outputs(mac))
    filled = batch["filled"].squeeze(2) > 0
    th.testing.assert_close(found[filled], expected[filled])


# of agents, that is; those with a memory: tests/learners/test_pymarl2_ppo.py
VALUES = [
    name
    for name in critics
    if critics.entry(name).traits["values"] == "states"
    and "share_critic_params" in critics.entry(name).options
    and not critics.entry(name).traits.get("memory")
    and not critics.entry(name).traits.get("needs_state_entities")
]


@pytest.mark.parametrize("more", [False, True])
@pytest.mark.parametrize("with_id", [True, False])
@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("name", VALUES)
def test_critics_against_their_inputs_written_out(name, shared, with_id, more):
    batch = random_batch([3, 5], 6)
    args = make_args(share_critic_params=shared, critic_agent_id=with_id, critic_layer_norm=True)
    args.critic_all_obs = args.critic_last_actions = more
    critic = critics[name](batch.scheme, args)
    fill(critic.parameters())
    size, length, n = *batch["obs"].shape[:2], 2
    own = batch["obs"]
    every = own.flatten(2).unsqueeze(2).expand(-1, -1, n, -1)
    state = batch["state"].unsqueeze(2).expand(-1, -1, n, -1)
    parts = {"own": [own], "state": [state], "all_obs": [every], "state_own": [own, state]}[name]
    if more:
        taken = batch["actions_onehot"].flatten(2).unsqueeze(2).expand(-1, -1, n, -1)
        parts = [*parts, every, th.cat([th.zeros_like(taken[:, :1]), taken[:, :-1]], dim=1)]
    if with_id:
        parts = [*parts, th.eye(n).expand(size, length, -1, -1)]
    inputs = th.cat(parts, dim=-1)
    weights = critic.state_dict()
    for i in range(n):
        key = "" if shared else f"critics.{i}."
        w = {k.removeprefix(key): v for k, v in weights.items() if k.startswith(key)}
        x = inputs[:, :, i]
        for layer in "12":
            x = x @ w[f"fc{layer}.weight"].T + w[f"fc{layer}.bias"]
            x = th.nn.functional.layer_norm(x, x.shape[-1:], w[f"norm{layer}.weight"], w[f"norm{layer}.bias"]).relu()
        expected = x @ w["fc3.weight"].T + w["fc3.bias"]
        th.testing.assert_close(critic(batch)[:, :, i], expected)
    th.testing.assert_close(critic(batch, t=2), critic(batch)[:, 2:3])


class _OfUnits(Agent):
    """Of each agent several vectors, which layers see side by side: `[N, units, F]`."""

    def __init__(self, input_shape, args):
        super().__init__()
        self.embedding, self.norm = th.nn.Linear(input_shape // 2, 4), th.nn.LayerNorm(4)
        self.fc2 = th.nn.Linear(4, args.n_actions)

    def init_hidden(self):
        return self.fc2.weight.new_zeros(1, 3)

    def forward(self, inputs, hidden_state):
        units = self._units(inputs.unflatten(-1, (2, -1)))
        return self.fc2(th.relu(units).amax(dim=-2)), hidden_state.reshape(-1, 3) + 1

    def _units(self, units):
        return self.norm(self.embedding(units))


class _OfHeads(_OfUnits):
    """With the rows in the last axis but one, `[heads, N, F]`."""

    def _units(self, units):
        return super()._units(units.transpose(0, 1)).transpose(0, 1)


class _OfFlatUnits(_OfUnits):
    """All units of all agents as rows: with weights of each agent, they get those of others."""

    def _units(self, units):
        return super()._units(units.flatten(0, 1)).view(*units.shape[:2], -1)


class _OfBoth(_OfUnits):
    def _units(self, units):
        return self.norm(self.embedding(units.transpose(0, 1)).transpose(0, 1))


def _mac_with(agent, monkeypatch, **changes):
    monkeypatch.setattr(REGISTRY, "_entries", dict(REGISTRY._entries))
    REGISTRY["own"] = agent
    batch = random_batch([3, 5, 2, 4], 6, n_agents=2, obs_shape=6)
    args = make_args(agent="own", n_agents=2, share_params=False, obs_last_action=False, obs_agent_id=False, **changes)
    return BasicMAC(batch.scheme, batch.groups, args), batch, args


@pytest.mark.parametrize("agent", [_OfUnits, _OfHeads])
def test_what_an_agent_sees_of_several_units_passes_its_own_weights(agent, monkeypatch):
    """Two agents with two units each, in four episodes: whichever axis is which, sizes do not tell."""
    mac, batch, args = _mac_with(agent, monkeypatch)
    fill(mac.agent.parameters())
    mac.init_hidden(4)
    inputs = mac._build_inputs(batch, 0)
    outputs, _ = mac.agent(inputs, mac.hidden_states)
    outputs.square().sum().backward()
    for i in range(2):
        alone = agent(inputs.size(-1), args)
        alone.load_state_dict(weights_of(mac.agent, i))
        expected, _ = alone(inputs[i::2], th.zeros(4, 3))
        th.testing.assert_close(outputs[i::2], expected)
        expected.square().sum().backward()
        for path, weight in alone.named_parameters():
            th.testing.assert_close(mac.agent.get_parameter(path).grad[i], weight.grad)


@pytest.mark.parametrize("agent", [_OfFlatUnits, _OfBoth])
def test_agents_that_would_get_the_weights_of_others_are_refused(agent, monkeypatch):
    with pytest.raises(
        ConfigError, match=rf"share_params=False: {agent.__name__} lets agents compute with the weights"
    ):
        _mac_with(agent, monkeypatch)
    th.manual_seed(3)
    _mac_with(_OfUnits, monkeypatch)
    drawn = th.rand(1)
    th.manual_seed(3)
    monkeypatch.setattr(controller, "find_own_rows", lambda *_: None)
    _mac_with(_OfUnits, monkeypatch)
    assert th.equal(th.rand(1), drawn), "looking at it draws random numbers"
