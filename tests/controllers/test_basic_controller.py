"""The shared controller: what its agents see, what it makes of their outputs, and one call for a whole batch."""

import pytest
import torch as th
from small_macs import make_mac

from controllers.basic_controller import BasicMAC
from controllers.unroll import BatchUnroll, unroll_mac
from helpers import make_args, random_batch
from modules.agents import REGISTRY as agent_REGISTRY
from modules.agents import RNNAgent


def _by_steps(mac, batch):
    """Outputs and memory, one step after the other."""
    mac.init_hidden(batch.batch_size)
    outputs, states = [], []
    for t in range(batch.max_seq_length):
        outputs.append(mac.forward(batch, t))
        states.append(mac.hidden_states.reshape(batch.batch_size, 2, -1))
    return th.stack(outputs, dim=1), th.stack(states, dim=1)


POLICY = {"agent_output_type": "pi_logits", "action_selector": "multinomial", "epsilon_start": 0.5}


@pytest.mark.parametrize("agent", ["rnn", "ff"])
@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"obs_last_action": False},
        {"obs_agent_id": False},
        {"obs_last_action": False, "obs_agent_id": False},
        {**POLICY, "mask_before_softmax": True},
        {**POLICY, "mask_before_softmax": False},
    ],
    ids=str,
)
def test_all_steps_at_once_are_those_one_by_one(agent, changes):
    """With padding, where no action is legal, and without it; gradients, too."""
    mac, batch = make_mac(batch=random_batch([3, 5, 1], 7), agent=agent, **changes)
    by_steps, states = _by_steps(mac, batch)
    outputs, hidden = mac.unroll(batch)
    th.testing.assert_close(outputs, by_steps)
    th.testing.assert_close(hidden, states)
    th.testing.assert_close(mac.hidden_states.reshape(3, 2, 8), hidden[:, -1])
    # the memory of earlier episodes does not matter
    th.testing.assert_close(mac.unroll(batch)[0], outputs)
    unroll = BatchUnroll(batch, mac)
    assert unroll.packed
    packed, filled = unroll.outputs(mac), batch["filled"].unsqueeze(-1)
    assert packed.shape == (4 + 6 + 2, 2, 3)
    th.testing.assert_close(unroll.spread(packed), by_steps * filled)
    assert th.equal(unroll.take(batch["avail_actions"]), unroll.avail_actions)
    weights = list(mac.parameters())
    expected, *found = (
        th.autograd.grad((x * filled).square().sum(), weights) for x in (by_steps, outputs, unroll.spread(packed))
    )
    for gradients in found:
        th.testing.assert_close(gradients, expected, rtol=1e-4, atol=1e-5)


def test_a_batch_with_gaps_keeps_them():
    mac, batch = make_mac()
    batch["filled"][0, 1] = 0
    unroll = BatchUnroll(batch, mac)
    assert not unroll.packed
    th.testing.assert_close(unroll.outputs(mac), mac.unroll(batch)[0])


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


class _DoublesInputs(BasicMAC):
    def _build_inputs(self, batch, t):
        return 2 * super()._build_inputs(batch, t)


class _NegatesOutputs(BasicMAC):
    def forward(self, ep_batch, t, test_mode=False):
        return -super().forward(ep_batch, t, test_mode)


class _NegatesUnroll(BasicMAC):
    def unroll(self, ep_batch, test_mode=False):
        outputs, hidden = super().unroll(ep_batch, test_mode)
        return -outputs, hidden


class _Declares(_NegatesOutputs):
    """Changes each step, and declares that all steps at once are the same."""

    supports_unroll = supports_packing = True


@pytest.mark.parametrize("cls", [_DoublesInputs, _NegatesOutputs, _NegatesUnroll])
def test_a_controller_that_changes_a_step_is_unrolled_by_its_own(cls):
    mac, batch = make_mac(cls)
    plain, _ = make_mac(batch=batch)
    outputs = mac.unroll(batch)[0]
    th.testing.assert_close(outputs, -plain.unroll(batch)[0] if cls is _NegatesUnroll else _by_steps(mac, batch)[0])
    assert not th.allclose(outputs, plain.unroll(batch)[0])
    unroll = BatchUnroll(batch, mac)
    assert not unroll.packed
    th.testing.assert_close(unroll.outputs(mac), outputs)


@pytest.mark.parametrize(
    ("cls", "unroll", "packing"),
    [
        (BasicMAC, True, True),
        (type("_Renamed", (BasicMAC,), {}), True, True),
        (_DoublesInputs, False, False),
        (_NegatesOutputs, False, False),
        (type("_Mixed", (_NegatesOutputs,), {}), False, False),
        (_NegatesUnroll, True, False),
        (_Declares, True, True),
    ],
)
def test_controllers_declare_which_steps_may_be_computed_at_once(cls, unroll, packing):
    assert (cls.supports_unroll, cls.supports_packing) == (unroll, packing)


class _ShiftedAgent(RNNAgent):
    """Has its own forward; the unroll it inherits does not fit it."""

    def forward(self, inputs, hidden_state):
        q, h = super().forward(inputs, hidden_state)
        return q + 1, h


class _ShiftedSequence(RNNAgent):
    def sequence(self, encoded, sizes, hidden_state):
        q, h = super().sequence(encoded, sizes, hidden_state)
        return q + 1, h


@pytest.mark.parametrize("cls", [_ShiftedAgent, _ShiftedSequence])
def test_an_agents_own_step_or_sequence_is_used(cls, monkeypatch):
    monkeypatch.setattr(agent_REGISTRY, "_entries", dict(agent_REGISTRY._entries))
    agent_REGISTRY["shifted"] = cls
    mac, batch = make_mac(agent="shifted")
    expected = make_mac(batch=batch)[0].unroll(batch)[0] + 1
    th.testing.assert_close(mac.unroll(batch)[0], expected)
    unroll, filled = BatchUnroll(batch, mac), batch["filled"].unsqueeze(-1)
    assert unroll.packed == (cls is _ShiftedSequence)
    th.testing.assert_close(unroll.spread(unroll.outputs(mac)) * filled, expected * filled)


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
    th.testing.assert_close(outputs, _by_steps(mac, batch)[0])
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
