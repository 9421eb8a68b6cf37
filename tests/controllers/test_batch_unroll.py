"""Unrolling without padding gives what unrolling with it gives, and only where that is safe."""

import pytest
import torch as th

from controllers.basic_controller import BasicMAC
from controllers.unroll import BatchUnroll
from helpers import fill, make_args, random_batch
from modules.agents import REGISTRY as agent_REGISTRY
from modules.agents import RNNAgent


def make_mac(batch, cls=BasicMAC, **changes):
    mac = cls(batch.scheme, batch.groups, make_args(rnn_hidden_dim=8, **changes))
    fill(mac.parameters())
    return mac


@pytest.mark.parametrize("agent", ["rnn", "ff"])
@pytest.mark.parametrize("parts", [(True, True), (True, False), (False, True), (False, False)])
@pytest.mark.parametrize("output", ["q", "pi_logits"])
def test_filled_steps_have_the_same_outputs(agent, parts, output):
    batch = random_batch([3, 5, 1], 7)
    selector = {"q": "epsilon_greedy", "pi_logits": "multinomial"}[output]
    own = {"agent": agent, "agent_output_type": output, "action_selector": selector}
    mac = make_mac(batch, obs_last_action=parts[0], obs_agent_id=parts[1], **own)
    unroll = BatchUnroll(batch, mac)
    assert unroll.packed
    outputs = unroll.outputs(mac)
    assert outputs.shape == (4 + 6 + 2, 2, 3)
    filled = batch["filled"].unsqueeze(-1) > 0
    th.testing.assert_close(unroll.spread(outputs), mac.unroll(batch)[0].masked_fill(~filled, 0.0))
    assert th.equal(unroll.take(batch["avail_actions"]), unroll.avail_actions)


def test_gradients_are_the_same():
    batch = random_batch([3, 5, 1], 7)
    mac = make_mac(batch)
    filled = batch["filled"].unsqueeze(-1)
    unroll = BatchUnroll(batch, mac)
    gradients = []
    for outputs in (unroll.spread(unroll.outputs(mac)), mac.unroll(batch)[0] * filled):
        mac.agent.zero_grad()
        outputs.square().sum().backward()
        gradients.append([p.grad.clone() for p in mac.parameters()])
    th.testing.assert_close(*gradients)


class _NegatesOutputs(BasicMAC):
    def forward(self, ep_batch, t, test_mode=False):
        return -super().forward(ep_batch, t, test_mode)


class _NegatesUnroll(BasicMAC):
    def unroll(self, ep_batch, test_mode=False):
        outputs, hidden = super().unroll(ep_batch, test_mode)
        return -outputs, hidden


@pytest.mark.parametrize("cls", [_NegatesOutputs, _NegatesUnroll])
def test_a_controller_with_its_own_forward_keeps_its_padding(cls):
    batch = random_batch([3, 5], 6)
    mac, plain = make_mac(batch, cls), make_mac(batch)
    unroll = BatchUnroll(batch, mac)
    assert not unroll.packed
    th.testing.assert_close(unroll.spread(unroll.outputs(mac)), -plain.unroll(batch)[0])


class _ShiftedAgent(RNNAgent):
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
    batch = random_batch([3, 5], 6)
    mac, plain = make_mac(batch, agent="shifted"), make_mac(batch)
    unroll = BatchUnroll(batch, mac)
    assert unroll.packed == (cls is _ShiftedSequence)
    filled = batch["filled"].unsqueeze(-1)
    th.testing.assert_close(unroll.spread(unroll.outputs(mac)) * filled, (plain.unroll(batch)[0] + 1) * filled)


def test_a_batch_with_gaps_keeps_them():
    batch = random_batch([3, 5], 6)
    batch["filled"][0, 1] = 0
    mac = make_mac(batch)
    unroll = BatchUnroll(batch, mac)
    assert not unroll.packed
    th.testing.assert_close(unroll.outputs(mac), mac.unroll(batch)[0])
