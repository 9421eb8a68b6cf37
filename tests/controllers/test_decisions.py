"""Decisions: what comes with the actions, from controllers of every kind."""

import math

import numpy as np
import pytest
import torch as th

from components.episode_buffer import EpisodeBatch
from controllers.basic_controller import BasicMAC
from controllers.decisions import Decider, Decision, extras_of_choice
from helpers import fill, make_args, random_batch
from utils.errors import ConfigError

ACTIONS = th.tensor([[0, 1], [2, 0], [1, 1]])
PROBS = th.full((3, 2, 3), 1 / 3)


@pytest.mark.parametrize(
    ("returned", "branches", "extras"),
    [
        (ACTIONS, {"actions"}, set()),
        ((ACTIONS, PROBS), {"actions"}, {"probs"}),
        ((ACTIONS, {"probs": PROBS, "value": ACTIONS}), {"actions"}, {"probs", "value"}),
        ({"gear": ACTIONS, "steering": PROBS}, {"gear", "steering"}, set()),
        (({"gear": ACTIONS}, {"value": PROBS}), {"gear"}, {"value"}),
    ],
)
def test_all_that_pymarls_controllers_and_selectors_return(returned, branches, extras):
    decision = Decision.of(returned)
    assert set(decision.actions) == branches
    assert set(decision.extras) == extras
    if "probs" in extras:
        assert decision.extra("probs") is PROBS
    assert decision.extra("entropy") is None


def test_extras_by_hand():
    """Of two agents: the best legal action and another one; the third is illegal. Probabilities 3/4, 1/4, 0."""
    outputs, avail = th.tensor([[[1.0, 2.0, 9.0]] * 2]), th.tensor([[[1, 1, 0]] * 2])
    calls = []

    def probs():
        calls.append(1)
        return th.tensor([[[0.25, 0.75, 0.0]] * 2])

    extras = extras_of_choice(outputs, avail, th.tensor([[1, 0]]), probs)
    assert calls == [], "unused extras are not computed"
    found = {name: Decision({}, extras).extra(name) for name in extras}
    assert found["greedy"].squeeze(-1).tolist() == [[True, False]]
    assert th.equal(found["action_was_greedy"], found["greedy"])
    assert found["log_prob"].squeeze(-1).tolist() == [pytest.approx([math.log(0.75), math.log(0.25)])]
    entropy = -0.75 * math.log(0.75) - 0.25 * math.log(0.25)
    assert found["entropy"].squeeze(-1).tolist() == [pytest.approx([entropy, entropy])]
    assert found["probs"].shape == (1, 2, 3)
    assert calls == [1]
    assert set(extras_of_choice(outputs, avail, th.tensor([[1, 0]]), None)) == {"greedy", "action_was_greedy"}


def make_mac(batch, cls=BasicMAC, **changes):
    mac = cls(batch.scheme, batch.groups, make_args(rnn_hidden_dim=8, **changes))
    fill(mac.parameters())
    mac.init_hidden(batch.batch_size)
    return mac


@pytest.mark.parametrize("rows", [slice(None), [0, 2]])
def test_the_controllers_decision_of_values(rows):
    batch = random_batch([4, 4, 4], 5)
    mac = make_mac(batch, epsilon_start=0.5, epsilon_finish=0.5)
    th.manual_seed(0)
    decision = mac.decide(batch, 1, 0, rows, test_mode=False)
    th.manual_seed(0)
    mac.init_hidden(3)
    assert th.equal(decision.actions["actions"], mac.select_actions(batch, 1, 0, rows))
    mac.init_hidden(3)
    values = mac.forward(batch, 1)[rows]
    th.testing.assert_close(decision.extra("q_values"), values.detach())
    assert not decision.extra("q_values").requires_grad
    best = values.masked_fill(batch["avail_actions"][rows, 1] == 0, -1e9).argmax(-1)
    assert th.equal(decision.extra("greedy").squeeze(-1), best == decision.actions["actions"])
    assert decision.extra("probs") is decision.extra("policy") is None


@pytest.mark.parametrize("rows", [slice(None), [0, 2]])
def test_who_explores_for_longer_repeats_the_action_of_the_step_before(rows):
    batch = random_batch([4, 4, 4], 5)
    batch.extend({"explores_for": {"vshape": (1,), "dtype": th.uint8, "group": "agents", "decision": True}})
    batch["avail_actions"][:], batch["explores_for"][:, 0] = 1, 3
    batch["actions"][:, 0] = th.arange(3).view(3, 1, 1)
    mac = make_mac(batch, action_selector="ez_greedy", epsilon_start=0.0, epsilon_finish=0.0)
    decision = mac.decide(batch, 1, 0, rows)
    assert th.equal(decision.actions["actions"], batch["actions"][rows, 0].squeeze(-1))
    assert (decision.extra("explores_for") == 2).all()
    assert not mac.decide(batch, 0, 0, rows).extra("explores_for").any()


@pytest.mark.parametrize("selector", ["multinomial", "soft_policies"])
def test_the_controllers_decision_by_a_policy(selector):
    batch = random_batch([4, 4], 5)
    mac = make_mac(batch, agent_output_type="pi_logits", action_selector=selector)
    decision = mac.decide(batch, 1, 0)
    probs = decision.extra("policy").masked_fill(batch["avail_actions"][:, 1] == 0, 0)
    probs = probs / probs.sum(-1, keepdim=True)
    th.testing.assert_close(decision.extra("probs"), probs)
    chosen = probs.gather(2, decision.actions["actions"].unsqueeze(2))
    th.testing.assert_close(decision.extra("log_prob"), chosen.log())
    th.testing.assert_close(decision.extra("entropy").squeeze(2), -(probs * probs.clamp(min=1e-9).log()).sum(-1))
    assert decision.extra("q_values") is None


class _OwnSelection(BasicMAC):
    """Always the last legal action, as a controller for PyMARL would say it."""

    def select_actions(self, ep_batch, t_ep, t_env, bs=slice(None), test_mode=False):
        super().select_actions(ep_batch, t_ep, t_env, bs, test_mode)
        legal = ep_batch["avail_actions"][bs, t_ep]
        return legal.shape[-1] - 1 - legal.flip(-1).argmax(-1)


class _OwnDecision(_OwnSelection):
    def decide(self, batch, t, t_env, rows=slice(None), test_mode=False):
        return Decision({"actions": self.select_actions(batch, t, t_env, rows, test_mode) * 0})


class _Foreign:
    """A controller that answers for all episodes, and offers a value."""

    def select_actions(self, ep_batch, t_ep, t_env, test_mode=False):
        rows = th.arange(ep_batch.batch_size).float().view(-1, 1).expand(-1, 2)
        return rows.long() % 3, {"value": rows.unsqueeze(-1) * 10}


@pytest.mark.parametrize(("cls", "expected"), [(BasicMAC, True), (_OwnSelection, False), (_OwnDecision, True)])
def test_a_controller_with_its_own_selection_acts_by_that(cls, expected):
    batch = random_batch([4, 4, 4], 5)
    mac = make_mac(batch, cls)
    assert mac.supports_decide is expected
    found = Decider(mac, batch).decide(1, 0, np.array([0, 2]), test_mode=True)["actions"]
    assert found.shape == (2, 2, 1)
    assert found.dtype == np.int64
    if cls is _OwnSelection:
        legal = batch["avail_actions"][[0, 2], 1]
        assert found.squeeze(2).tolist() == (2 - legal.flip(-1).argmax(-1)).tolist()
    if cls is _OwnDecision:
        assert not found.any()


def with_fields(batch, *names):
    for name in names:
        batch.scheme[name] = {"vshape": (1,), "group": "agents", "dtype": th.float32, "decision": True}
    return batch


def test_a_controller_without_rows_is_asked_for_all_and_heard_for_some():
    batch = with_fields(random_batch([4] * 5, 5), "value")
    heard = []
    decider = Decider(_Foreign(), batch, lambda *heard_now: heard.append(heard_now))
    found = decider.decide(2, 0, np.array([1, 4]))
    assert found["actions"].squeeze(2).tolist() == [[1, 1], [1, 1]]
    assert found["value"].squeeze(2).tolist() == [[10, 10], [40, 40]]
    ((decision, of, t),) = heard
    assert decision.actions["actions"].tolist() == [[1, 1], [1, 1]]
    assert (of is batch, t) == (True, 2)
    assert Decider(_Foreign(), batch).decide(2, 0)["value"][:, 0, 0].tolist() == [0, 10, 20, 30, 40]


def test_a_needed_and_missing_extra_is_named():
    batch = with_fields(random_batch([4], 5), "log_prob")
    with pytest.raises(ConfigError, match=r"'log_prob', which mac=BasicMAC .* does not offer; it offers .*q_values"):
        Decider(make_mac(batch), batch).decide(0, 0)


class _Branches:
    supports_decide = True

    def decide(self, batch, t, t_env, rows, test_mode):
        size = len(range(batch.batch_size)[rows]) if isinstance(rows, slice) else len(rows)
        return Decision({"gear": th.ones(size, 2, dtype=th.int32), "steering": th.full((size, 2, 3), 0.5)})


def test_branches_are_separate_fields():
    agents = {"group": "agents"}
    scheme = {"gear": {"vshape": 1, "dtype": th.long, **agents}, "steering": {"vshape": 3, **agents}}
    batch = EpisodeBatch(scheme, {"agents": 2}, 4, 2)
    found = Decider(_Branches(), batch).decide(0, 0, np.array([1, 3]))
    assert (found["gear"].shape, found["gear"].dtype) == ((2, 2, 1), np.int64)
    assert (found["steering"].shape, found["steering"].dtype) == ((2, 2, 3), np.float32)
