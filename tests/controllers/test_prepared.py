"""Prepared passes: acting on the CPU gives what the modules give; parts of one's own are asked as they are."""

import copy

import cloudpickle
import pytest
import torch as th

from controllers.basic_controller import BasicMAC
from controllers.policy_controller import PolicyMAC
from helpers import fill, make_args, random_batch
from modules.agents import REGISTRY
from modules.agents.rnn_agent import RNNAgent

PREPARED = [name for name in REGISTRY if "prepared" in vars(REGISTRY[name])]
VALUES = {"agent_output_type": "q"}
POLICY = {"agent_output_type": "pi_logits", "mac": "policy_mac"}
CHOICES = {
    "epsilon_greedy": (BasicMAC, VALUES | {"action_selector": "epsilon_greedy"}),
    "epsilon_boltzmann": (BasicMAC, VALUES | {"action_selector": "epsilon_boltzmann"}),
    "multinomial": (BasicMAC, {"agent_output_type": "pi_logits", "action_selector": "multinomial"}),
    "soft_policies": (BasicMAC, {"agent_output_type": "pi_logits", "action_selector": "soft_policies"}),
    "policy": (PolicyMAC, POLICY),
    "policy and value": (PolicyMAC, POLICY | {"critic": "trunk"}),
    "normalised": (PolicyMAC, POLICY | {"normalise_observations": True}),
}
INPUTS = {
    "all": {},
    "no last action": {"obs_last_action": False},
    "no id": {"obs_agent_id": False},
    "observations alone": {"obs_last_action": False, "obs_agent_id": False},
    "weights of each agent": {"share_params": False},
    "weights and norms of each agent": {"share_params": False, "layer_norm": True},
    "layer_norm": {"layer_norm": True},
    "PyMARL2's norm": {"use_layer_norm": True},
    "no memory": {"use_rnn": False},
}


def make_mac(cls=BasicMAC, batch=None, **changes):
    batch = random_batch([5, 5, 5, 5], 6) if batch is None else batch
    mac = cls(batch.scheme, batch.groups, make_args(rnn_hidden_dim=8, epsilon=0.5, **changes))
    fill(mac.parameters(), scale=0.7)
    mac.init_hidden(batch.batch_size)
    return mac, batch


@th.no_grad()
def uses_prepared(mac, batch):
    return mac._prepared.step(batch, 1, mac.hidden_states) is not None


def plain(mac):
    """A copy of the controller that takes the modules' path, as any does whose layers somebody watches."""
    other = copy.deepcopy(mac)
    other.agent.register_forward_hook(lambda *_: None)
    return other


def decisions(mac, batch, rows, test_mode):
    """Of four steps: actions and all extras; and the memory after them."""
    th.manual_seed(4)
    mac.init_hidden(batch.batch_size)
    found = []
    for t in range(4):
        decision = mac.decide(batch, t, 100, rows, test_mode)
        found.append((decision.actions, {key: decision.extra(key) for key in decision.extras}))
    return found, mac.hidden_states.reshape(batch.batch_size, mac.n_agents, -1)


def assert_alike(mac, batch, rows=slice(None), test_mode=False):
    other = plain(mac)
    assert uses_prepared(mac, batch)
    assert not uses_prepared(other, batch)
    (found, memory), (expected, memory_there) = (decisions(x, batch, rows, test_mode) for x in (mac, other))
    for (actions, extras), (actions_there, extras_there) in zip(found, expected, strict=True):
        th.testing.assert_close(actions, actions_there, rtol=0, atol=0)
        # distributions' heads sum up in another order
        th.testing.assert_close(extras, extras_there, rtol=1e-5, atol=5e-5)
    th.testing.assert_close(memory, memory_there, rtol=1e-5, atol=1e-6)


def test_which_agents_have_a_prepared_form():
    assert PREPARED == ["rnn", "ff", "rnn_layernorm", "iqn"]


@pytest.mark.parametrize("inputs", INPUTS)
@pytest.mark.parametrize("agent", PREPARED)
def test_the_prepared_pass_is_that_of_the_modules(agent, inputs):
    assert_alike(*make_mac(agent=agent, **INPUTS[inputs]))


@pytest.mark.parametrize("changes", [{}, {"dueling": False}, {"share_params": False}], ids=str)
@pytest.mark.parametrize("distribution", ["implicit", "quantiles", "categorical"])
def test_distributions_of_returns_have_the_same_means(distribution, changes):
    mac, batch = make_mac(agent="iqn", distribution=distribution, acting_quantiles=6, value_max=4.0, **changes)
    assert_alike(mac, batch)
    values = mac.decide(batch, 1, 0).extra("q_values")
    assert values.std() > 0.1
    assert th.equal(values, mac.decide(batch, 1, 0).extra("q_values")) == (distribution != "implicit")


def test_pictures_of_distributions_keep_the_modules_path():
    mac, batch = make_mac(agent="iqn")
    mac.agent.convs["obs"] = th.nn.Flatten()
    mac._prepared = copy.deepcopy(mac._prepared)
    assert not uses_prepared(mac, batch)


@pytest.mark.parametrize("test_mode", [False, True])
@pytest.mark.parametrize("rows", [slice(None), [0, 2]])
@pytest.mark.parametrize("choice", CHOICES)
def test_choices_are_the_same(choice, rows, test_mode):
    cls, changes = CHOICES[choice]
    mac, batch = make_mac(cls, **changes)
    if choice == "normalised":
        mac.take_in(batch, batch["filled"].expand(-1, -1, 1))
    assert_alike(mac, batch, rows, test_mode)


def test_changed_weights_are_seen_however_they_change():
    mac, batch = make_mac()
    assert_alike(mac, batch)
    with th.no_grad():
        mac.agent.fc1.weight.mul_(2)
    assert_alike(mac, batch)
    mac.agent.fc2.weight.data = th.ones_like(mac.agent.fc2.weight)
    assert_alike(mac, batch)
    state = {key: value * 0.5 for key, value in mac.agent.state_dict().items()}
    mac.agent.load_state_dict(state, assign=True)
    assert_alike(mac, batch)
    mac.agent = make_mac(seed=2)[0].agent
    assert_alike(mac, batch)


def test_memory_may_lie_as_it_likes_and_stays_as_it_was():
    """Memory that was reset or loaded has another order of numbers; none is written over by the next decision."""
    mac, batch = make_mac()
    mac.decide(batch, 0, 0)
    first, before = mac.hidden_states, mac.hidden_states.clone()
    mac.decide(batch, 1, 0)
    second = mac.hidden_states
    assert th.equal(first, before)
    for again in (before.contiguous(), before.view(4, -1, before.size(-1)), before.t().contiguous().t()):
        mac.hidden_states = again
        mac.decide(batch, 1, 0)
        assert th.equal(mac.hidden_states, second), "to the last bit"


def test_another_number_of_episodes_has_its_own_buffers():
    mac, batch = make_mac()
    other = random_batch([5, 5], 6, seed=1)
    for one in (batch, other, batch):
        mac.init_hidden(one.batch_size)
        assert_alike(mac, one)


class _OwnForward(BasicMAC):
    def forward(self, ep_batch, t, test_mode=False):
        return -super().forward(ep_batch, t, test_mode)


class _OwnInputs(BasicMAC):
    def _build_inputs(self, batch, t):
        return 2 * super()._build_inputs(batch, t)


class _OwnAgent(RNNAgent):
    def forward(self, inputs, hidden_state):
        outputs, hidden = super().forward(inputs, hidden_state)
        return -outputs, hidden


@pytest.mark.parametrize("cls", [_OwnForward, _OwnInputs])
def test_a_controller_of_ones_own_is_asked(cls):
    mac, batch = make_mac(cls)
    assert not uses_prepared(mac, batch)
    mac.init_hidden(4)
    expected = mac.forward(batch, 1).detach()
    mac.init_hidden(4)
    assert th.equal(mac.decide(batch, 1, 0).extra("q_values"), expected)


def test_an_agent_of_ones_own_is_asked():
    mac, batch = make_mac()
    outputs = mac.decide(batch, 1, 0).extra("q_values")
    mac.agent.__class__ = _OwnAgent
    mac._prepared = copy.deepcopy(mac._prepared)
    mac.init_hidden(4)
    th.testing.assert_close(mac.decide(batch, 1, 0).extra("q_values"), -outputs)


def _layer(mac):
    mac.agent.fc2 = th.nn.Sequential(mac.agent.fc2, th.nn.Tanh())


def _hook(mac):
    mac.agent.rnn.register_forward_pre_hook(lambda *_: None)


def _function(mac):
    mac.agent.forward = lambda inputs, hidden: RNNAgent.forward(mac.agent, inputs, hidden)


def _precision(mac):
    mac.agent.double()
    mac.hidden_states = mac.hidden_states.double()


@pytest.mark.parametrize("change", [_layer, _hook, _function, _precision])
def test_what_somebody_changes_in_an_agent_is_asked(change):
    mac, batch = make_mac()
    assert uses_prepared(mac, batch)
    change(mac)
    assert not uses_prepared(mac, batch)


@pytest.mark.parametrize("dtype", [th.float16, th.uint8])
def test_observations_of_other_types_keep_the_modules_path(dtype):
    mac, batch = make_mac()
    batch.data.transition_data["obs"] = batch["obs"].to(dtype)
    assert not uses_prepared(mac, batch)


def _sent(mac):
    return cloudpickle.loads(cloudpickle.dumps(mac))


@pytest.mark.parametrize("copied", [copy.deepcopy, _sent])
def test_a_copy_has_its_own_buffers_and_weights(copied):
    mac, batch = make_mac()
    assert_alike(mac, batch)
    other = copied(mac)
    assert uses_prepared(other, batch)
    fill(other.parameters(), seed=3)
    assert_alike(other, batch)
    assert_alike(mac, batch)
