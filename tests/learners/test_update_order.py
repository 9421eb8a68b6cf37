"""Policies that are updated one after another: copies, whose turn it is, and what the next ones know of it."""

import copy

import numpy as np
import pytest
import torch as th

from checks import check_config
from cli.compose import compose_config
from components.sampling.fields import of_agent
from controllers.policy_controller import PolicyMAC
from fakes import RecordingLogger
from helpers import fill, make_args, random_batch
from learners.a2c_learner import A2CLearner
from learners.ppo_learner import PPOLearner
from random_rollouts import random_rollout
from utils.errors import ConfigError

APART = {"share_params": False, "update_order": "fixed", "gamma": 0.9, "grad_norm_clip": 1e6, "entropy_coef": 0.0}


def learner_on(kind, agent="rnn", **changes):
    batch, mac, args = random_rollout(agent, learner_log_interval=1, **{**APART, **changes})
    return kind(mac, batch.scheme, RecordingLogger(), args), mac, batch


def log_probs(learner, mac, batch):
    """By all agents at once, `[B, T, n]`."""
    return learner.log_prob(batch, mac).clone()


@pytest.mark.parametrize("agent_id", [True, False])
@pytest.mark.parametrize("agent", ["rnn", "ff"])
def test_a_copy_is_the_agent_alone(agent, agent_id):
    learner, mac, batch = learner_on(PPOLearner, agent, obs_agent_id=agent_id)
    expected = log_probs(learner, mac, batch)
    for i in range(2):
        own = mac.alone(i)
        th.testing.assert_close(learner.log_prob(of_agent(batch, i), own), expected[:, :, i : i + 1])
    th.testing.assert_close(learner.log_prob(batch, mac.alone(None)), expected)


def test_each_agent_has_its_own_deviation():
    batch = random_batch([3, 5], 6)
    batch.scheme["actions"] = {"vshape": (2,), "group": "agents", "kind": "action", "low": None, "high": None}
    del batch.scheme["actions_onehot"]
    mac = PolicyMAC(batch.scheme, batch.groups, make_args(critic="own", share_params=False, obs_last_action=False))
    (deviations,) = mac.policy.log_std.values()
    assert deviations.shape == (2, 2)
    fill(mac.parameters())
    policy = mac.distribution(th.zeros(4, 2, 2), {}).branches["actions"]
    th.testing.assert_close(policy.log_std, deviations.expand(4, 2, 2).clamp(-20, 2))
    assert not th.equal(deviations[0], deviations[1])
    for i in range(2):
        (own,) = mac.alone(i).policy.log_std.values()
        assert th.equal(own, deviations[i : i + 1])


@pytest.mark.parametrize("kind", [PPOLearner, A2CLearner])
def test_the_advantages_of_the_next_agent_count_by_how_much_the_one_before_has_changed(kind):
    learner, mac, batch = learner_on(kind, epochs=3, lr=0.01)
    before, seen, update = log_probs(learner, mac, batch), [], learner._update

    def noting(part, *rest):
        seen.append((part["advantages"], log_probs(learner, mac, batch)))
        return update(part, *rest)

    learner._update = noting
    estimates = []
    learner.estimates = lambda *rest, found=learner.estimates: estimates.append(found(*rest)) or estimates[-1]
    learner.train(batch, 10, 0)
    first, *_, (second, then) = seen
    assert len(seen) == 2 * (3 if kind is PPOLearner else 1)
    advantages, had_choice = estimates[0]["advantages"], estimates[0]["choices"][:, :, :1] > 0
    ratio = th.where(had_choice, (then - before).exp()[:, :, :1], 1.0)
    assert (ratio - 1).abs().max() > 0.01 and not had_choice.all()
    order = lambda x: x.sort(dim=0).values  # noqa: E731 - minibatches shuffle the rows
    th.testing.assert_close(order(first[0]), order(advantages[:, :, :1]))
    th.testing.assert_close(order(second), order(advantages[:, :, 1:] * ratio))


def test_only_the_agent_whose_turn_it_is_changes():
    learner, mac, batch = learner_on(PPOLearner)
    weights, moved, update = copy.deepcopy(list(mac.parameters())), [], learner._update

    def noting(part, *rest):
        moved.append([[not th.equal(*pair) for pair in zip(now[i], old[i], strict=True)] for i in range(2)])
        return update(part, *rest)

    now, old = ([[p[i] for p in of] for i in range(2)] for of in (list(mac.parameters()), weights))
    learner._update = noting
    learner.train(batch, 10, 0)
    assert not np.any(moved[0]) and np.all(moved[1][0]) and not np.any(moved[1][1])
    assert all(not th.equal(*pair) for pair in zip(now[1], old[1], strict=True))


def test_a_random_order_is_another_each_time_and_from_numpys_generator():
    learner, _, batch = learner_on(A2CLearner, update_order="random")
    np.random.seed(3)
    orders = []
    for _ in range(8):
        turns = learner.order.turns(batch, learner.estimates(batch), learner.log_prob)
        orders.append([learner.mac_copies.index(own) for own, *_ in turns])
    np.random.seed(3)
    assert orders == [np.random.permutation(2).tolist() for _ in range(8)]
    assert {tuple(order) for order in orders} == {(0, 1), (1, 0)}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"share_params": True}, r"update_order=random updates .* share_params=True there is one for all"),
        ({"critic": "trunk"}, r"critic=trunk is a part of each\. Use a critic of its own"),
        ({"mac": "basic_mac", "action_selector": "multinomial"}, r"mac=basic_mac cannot take apart"),
        ({"joint_step": True, "critic_lr": None}, r"and the critic after them\. Use joint_step=False"),
        ({"recompute_advantages": True}, r"estimated once\. Use recompute_advantages=False"),
        ({"normalise_advantages_per_minibatch": True}, r"Use normalise_advantages_per_minibatch=False"),
        ({"update_order": "rnadom"}, r"update_order.*random"),
    ],
)
def test_what_does_not_go_with_it_is_refused(changes, message):
    config = compose_config("happo", "lbf").config
    check_config(config)
    with pytest.raises(ConfigError, match=message):
        check_config({**config, **changes})
