"""The shared controller: what its agents see, what it makes of their outputs, and one call for a whole batch."""

import pytest
import torch as th
from small_macs import make_mac

from controllers.basic_controller import BasicMAC
from controllers.unroll import BatchUnroll, unroll_mac
from helpers import make_args, random_batch
from modules.agents import REGISTRY as agent_REGISTRY
from modules.agents import RNNAgent


@pytest.mark.parametrize("t", [0, 2])
def test_inputs_are_observation_last_action_and_agent_id(t):
    mac, batch = make_mac()
    inputs = mac._build_inputs(batch, t)
    assert inputs.shape == (2 * 2, 5 + 3 + 2)
    for row in range(2):
        for agent in range(2):
            last = [0.0] * 3 if t == 0 else batch["actions_onehot"][row, t - 1, agent].tolist()
            agent_id = [1.0, 0.0] if agent == 0 else [0.0, 1.0]
            expected = batch["obs"][row, t, agent].tolist() + last + agent_id
            assert inputs[row * 2 + agent].tolist() == expected


def test_parts_of_the_input_can_be_left_out():
    mac, batch = make_mac(obs_last_action=False, obs_agent_id=False)
    assert th.equal(mac._build_inputs(batch, 1), batch["obs"][:, 1].reshape(4, 5))


def _by_steps(mac, batch):
    mac.init_hidden(batch.batch_size)
    return th.stack([mac.forward(batch, t) for t in range(batch.max_seq_length)], dim=1)


@pytest.mark.parametrize("agent", ["rnn", "ff"])
@pytest.mark.parametrize("output", ["q", "pi_logits"])
@pytest.mark.parametrize("mask_before_softmax", [True, False])
def test_unroll_is_every_step_at_once(agent, output, mask_before_softmax):
    """Padding, where no action is legal, included."""
    selector = {"q": "epsilon_greedy", "pi_logits": "multinomial"}[output]
    mac, batch = make_mac(
        agent=agent, agent_output_type=output, action_selector=selector, mask_before_softmax=mask_before_softmax
    )
    outputs, hidden = mac.unroll(batch)
    assert outputs.shape == (2, 6, 2, 3)
    assert hidden.shape == (2, 6, 2, 8)
    assert outputs.isfinite().all()
    th.testing.assert_close(mac.hidden_states.reshape(2, 2, 8), hidden[:, -1])
    th.testing.assert_close(outputs, _by_steps(mac, batch))
    th.testing.assert_close(mac.hidden_states.reshape(2, 2, 8), hidden[:, -1])
    # the memory of earlier episodes does not matter
    th.testing.assert_close(mac.unroll(batch)[0], outputs)


class _StepByStep(BasicMAC):
    def forward(self, ep_batch, t, test_mode=False):
        return super().forward(ep_batch, t, test_mode)


@pytest.mark.parametrize("cls", [BasicMAC, _StepByStep])
def test_tests_unroll_without_the_epsilon_floor(cls):
    mac, batch = make_mac(cls, agent_output_type="pi_logits", action_selector="multinomial")
    outputs, _ = mac.unroll(batch, test_mode=True)
    floored, _ = mac.unroll(batch)
    # epsilon is 1 at the start: uniform over the legal actions
    legal = batch["avail_actions"][:, :4].float()
    th.testing.assert_close(floored[:, :4], legal / legal.sum(-1, keepdim=True))
    mac.init_hidden(2)
    for t in range(4):
        th.testing.assert_close(outputs[:, t], mac.forward(batch, t, test_mode=True))


@pytest.mark.parametrize("agent", ["rnn", "ff"])
def test_hidden_states_are_those_after_each_step(agent):
    mac, batch = make_mac(agent=agent)
    _, hidden = mac.unroll(batch)
    mac.init_hidden(2)
    assert mac.hidden_states.shape == (2, 2, 8)
    assert mac.hidden_states.abs().sum() == 0
    for t in range(batch.max_seq_length):
        mac.forward(batch, t)
        th.testing.assert_close(hidden[:, t], mac.hidden_states.reshape(2, 2, 8))


def test_gradients_of_unroll_are_those_of_the_steps():
    mac, batch = make_mac()
    gradients = []
    for outputs in (mac.unroll(batch)[0], _by_steps(mac, batch)):
        mac.agent.zero_grad()
        outputs.square().sum().backward()
        gradients.append([p.grad.clone() for p in mac.parameters()])
    th.testing.assert_close(*gradients)


class _DoublesInputs(BasicMAC):
    def _build_inputs(self, batch, t):
        return 2 * super()._build_inputs(batch, t)


class _NegatesOutputs(BasicMAC):
    def forward(self, ep_batch, t, test_mode=False):
        return -super().forward(ep_batch, t, test_mode)


class _ShiftedAgent(RNNAgent):
    """Has its own forward; the unroll it inherits does not fit it."""

    def forward(self, inputs, hidden_state):
        q, h = super().forward(inputs, hidden_state)
        return q + 1, h


@pytest.mark.parametrize("cls", [_DoublesInputs, _NegatesOutputs])
def test_a_controller_that_changes_a_step_is_unrolled_by_steps(cls):
    mac, batch = make_mac(cls)
    plain, _ = make_mac(batch=batch)
    th.testing.assert_close(mac.unroll(batch)[0], _by_steps(mac, batch))
    assert not th.allclose(mac.unroll(batch)[0], plain.unroll(batch)[0])


def test_an_agent_that_changes_a_step_is_unrolled_by_steps(monkeypatch):
    monkeypatch.setitem(agent_REGISTRY._entries, "shifted", None)
    agent_REGISTRY["shifted"] = _ShiftedAgent
    mac, batch = make_mac(agent="shifted")
    plain, _ = make_mac(batch=batch)
    th.testing.assert_close(mac.unroll(batch)[0], plain.unroll(batch)[0] + 1)


class _AgentOfPyMARL(th.nn.Module):
    """Has nothing but `init_hidden` and `forward`."""

    def __init__(self, input_shape, args):
        super().__init__()
        self.fc = th.nn.Linear(input_shape, args.n_actions)

    def init_hidden(self):
        return th.zeros(1, 1)

    def forward(self, inputs, hidden_state):
        hidden = hidden_state.reshape(-1, 1) + 1
        return self.fc(inputs) * hidden, hidden


def test_an_agent_of_pymarls_is_unrolled_by_steps(monkeypatch):
    monkeypatch.setattr(agent_REGISTRY, "_entries", dict(agent_REGISTRY._entries))
    agent_REGISTRY["plain"] = _AgentOfPyMARL
    mac, batch = make_mac(agent="plain")
    outputs, hidden = mac.unroll(batch)
    th.testing.assert_close(outputs, _by_steps(mac, batch))
    assert hidden[1, :, 1, 0].tolist() == [1, 2, 3, 4, 5, 6]


class _PlainMAC:
    """A third party's controller, without `unroll` and without hidden states."""

    def init_hidden(self, batch_size):
        self.started = batch_size

    def forward(self, batch, t, test_mode=False):
        return batch["obs"][:, t, :, :3] * (t + 1)


def test_any_controller_can_be_unrolled():
    batch = random_batch([3, 5], 6)
    outputs, hidden = unroll_mac(_PlainMAC(), batch)
    assert hidden is None
    th.testing.assert_close(outputs[:, 4], batch["obs"][:, 4, :, :3] * 5)


class _CountingMAC(_PlainMAC):
    """Its memory is the number of steps since `init_hidden`, one row an agent as PyMARL's agents give it."""

    def init_hidden(self, batch_size):
        self.hidden_states = th.zeros(batch_size, 2, 1)

    def forward(self, batch, t, test_mode=False):
        self.hidden_states = self.hidden_states.reshape(-1, 1) + 1
        return batch["obs"][:, t, :, :3] + self.hidden_states.view(-1, 2, 1)


def test_any_controllers_memory_is_collected():
    batch, mac = random_batch([3, 5], 6), _CountingMAC()
    for _ in range(2):
        outputs, hidden = unroll_mac(mac, batch)
        assert hidden.shape == (2, 6, 2, 1)
        assert hidden[1, :, 0, 0].tolist() == [1, 2, 3, 4, 5, 6]
        th.testing.assert_close(outputs[:, 4], batch["obs"][:, 4, :, :3] + 5)


class _WithoutMemory(BasicMAC):
    def init_hidden(self, batch_size):
        self.hidden_states = None

    def forward(self, ep_batch, t, test_mode=False):
        return ep_batch["obs"][:, t, :, :3]


class _WithTwoMemories(_WithoutMemory):
    """As a controller of LSTM agents has."""

    def init_hidden(self, batch_size):
        self.hidden_states = th.zeros(batch_size, 2, 8), th.zeros(batch_size, 2, 8)


@pytest.mark.parametrize("cls", [_WithoutMemory, _WithTwoMemories])
def test_a_derived_controller_may_keep_its_memory_as_it_likes(cls):
    """PyMARL's learners call `init_hidden` and `forward` only; what is between them is the controller's own."""
    batch = random_batch([3, 5], 6)
    mac = cls(batch.scheme, batch.groups, make_args())
    th.testing.assert_close(unroll_mac(mac, batch)[0], batch["obs"][..., :3])


class _PerAgent(th.nn.Module):
    """As PyMARL2's agents: it takes `[B, n, I]` only, and remembers nothing."""

    def __init__(self, input_shape, args):
        super().__init__()
        self.fc = th.nn.Linear(input_shape, args.n_actions)

    def init_hidden(self):
        return None

    def forward(self, inputs, hidden_state):
        _, agents, _ = inputs.shape
        return self.fc(inputs) + 10 * th.arange(agents).view(1, -1, 1), hidden_state


def test_an_agent_may_take_an_axis_of_agents(monkeypatch):
    """While acting, step by step and in a learner; nothing but the shape differs from rows."""
    monkeypatch.setitem(agent_REGISTRY._entries, "per_agent", None)
    agent_REGISTRY["per_agent"] = _PerAgent
    batch, args = random_batch([3, 2], 5), make_args(agent="per_agent", epsilon_start=0.0, epsilon_finish=0.0)
    mac = BasicMAC(batch.scheme, batch.groups, args)
    mac.init_hidden(2)
    assert mac.hidden_states is None
    plain = mac.agent.fc(_expected_inputs(batch, 1)) + th.tensor([0.0, 10.0]).view(1, 2, 1)
    th.testing.assert_close(mac.forward(batch, t=1), plain)
    assert th.equal(mac.select_actions(batch, t_ep=1, t_env=0)[:, 0], _greedy(plain, batch, 1)[:, 0])
    outputs = BatchUnroll(batch, mac).outputs(mac)
    assert outputs.shape == (2, 5, 2, 3)
    th.testing.assert_close(outputs[:, 1], plain)


def _expected_inputs(batch, t):
    ids = th.eye(2).expand(2, 2, 2)
    return th.cat([batch["obs"][:, t], batch["actions_onehot"][:, t - 1], ids], dim=-1)


def _greedy(values, batch, t):
    return values.masked_fill(batch["avail_actions"][:, t] == 0, -1e9).argmax(dim=2)


def test_trying_agents_draws_no_random_numbers():
    batch, args = random_batch([3], 5), make_args()
    th.manual_seed(0)
    weights = [*RNNAgent(10, args).parameters()]
    after = th.rand(3)
    th.manual_seed(0)
    mac = BasicMAC(batch.scheme, batch.groups, args)
    assert all(th.equal(a, b) for a, b in zip(mac.parameters(), weights, strict=True))
    assert th.equal(th.rand(3), after)
