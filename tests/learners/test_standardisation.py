"""Standardised rewards and returns: of the team and of agents, with EPyMARL's padding, and in Q-learning."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch as th

from helpers import random_batch
from learners.standardisation import Standardisation, reward_count
from small_learners import q_learner as make_learner
from utils.rl_utils import valid_transitions

# two episodes of two steps and of one; the rest is padding
MASK = th.tensor([[1.0, 1.0], [1.0, 0.0]]).unsqueeze(2)
BY_AGENT = [[[1.0, 10.0], [2.0, 30.0]], [[6.0, 20.0], [0.0, 0.0]]]


def standardisation(agents, **settings):
    args = {"standardise_rewards": True, "standardise_returns": True, "standardise_padding": False, "n_agents": agents}
    args["standardise_repeats"] = False
    return Standardisation({"reward": {"vshape": (agents,)}}, SimpleNamespace(**{**args, **settings}), agents)


def by_hand(values):
    """Mean and deviation after a batch: a first mean 0 and variance 1 weigh 1e-4, the batch's variance is unbiased."""
    n, first = len(values), 1e-4
    mean, var = np.mean(values), np.var(values, ddof=1)
    share = n / (n + first)
    var = (1 - share) + share * var + share * (1 - share) * mean**2
    return share * mean, np.sqrt(var)


def batch_of(rewards):
    """As learners get it: with one more step."""
    reward = th.tensor(rewards)
    return {"reward": th.cat([reward, th.full_like(reward[:, :1], 99.0)], dim=1)}


@pytest.mark.parametrize(("padding", "seen"), [(False, [1, 2, 6]), (True, [1, 2, 6, 0])])
def test_rewards_of_a_team(padding, seen):
    known = standardisation(1, standardise_padding=padding)
    rewards = th.tensor(BY_AGENT)[..., :1].tolist()
    found = known.rewards(batch_of(rewards), MASK)
    mean, deviation = by_hand(seen)
    assert found[MASK > 0].tolist() == pytest.approx([(r - mean) / deviation for r in (1, 2, 6)], rel=1e-5)
    # the mean of what came before, too
    again = known.rewards(batch_of(rewards), MASK)
    assert not th.allclose(found, again)


def test_a_teams_reward_may_count_once_for_each_agent():
    """PyMARLzoo+'s MADDPG: of more values, the unbiased variance is smaller."""
    known = standardisation(1, n_agents=3, standardise_repeats=True)
    found = known.rewards(batch_of(th.tensor(BY_AGENT)[..., :1].tolist()), MASK)
    mean, deviation = by_hand([1, 2, 6] * 3)
    assert found[MASK > 0].tolist() == pytest.approx([(r - mean) / deviation for r in (1, 2, 6)], rel=1e-5)


@pytest.mark.parametrize("shape", ["[n]", "[n, 1]"])
def test_rewards_of_each_agent(shape):
    known = standardisation(2)
    batch = batch_of(BY_AGENT)
    if shape == "[n, 1]":
        batch["reward"] = batch["reward"].unsqueeze(3)
    found = known.rewards(batch, MASK)
    for agent, seen in enumerate(([1, 2, 6], [10, 30, 20])):
        mean, deviation = by_hand(seen)
        expected = [(r - mean) / deviation for r in seen]
        assert found[..., agent][MASK.squeeze(2) > 0].tolist() == pytest.approx(expected, rel=1e-5, abs=1e-6)


def test_an_agent_that_is_absent_is_not_counted():
    mask = MASK.expand(-1, -1, 2).clone()
    mask[0, 0, 1] = 0
    known = standardisation(2)
    found = known.rewards(batch_of(BY_AGENT), mask)
    mean, deviation = by_hand([30, 20])
    assert found[0, 1, 1].item() == pytest.approx((30 - mean) / deviation, rel=1e-5)
    mean, deviation = by_hand([1, 2, 6])
    assert found[0, 1, 0].item() == pytest.approx((2 - mean) / deviation, rel=1e-5)


@pytest.mark.parametrize(("padding", "seen"), [(False, [1, 2, 6]), (True, [1, 2, 6, 0])])
def test_returns_and_the_values_in_their_units(padding, seen):
    known = standardisation(2, standardise_padding=padding)
    outputs = th.tensor([[0.5, -1.0]])
    assert known.values(outputs).tolist() == [[0.5, -1.0]], "nothing seen yet"
    found = known.returns(th.tensor(BY_AGENT), MASK)
    mean, deviation = by_hand(seen)
    assert found[..., 0][MASK.squeeze(2) > 0].tolist() == pytest.approx(
        [(r - mean) / deviation for r in (1, 2, 6)], rel=1e-5
    )
    assert known.values(outputs)[0, 0].item() == pytest.approx(0.5 * deviation + mean, rel=1e-5)


def test_nothing_is_changed_that_is_not_asked_for():
    known = standardisation(2, standardise_rewards=False, standardise_returns=False)
    assert th.equal(known.rewards(batch_of(BY_AGENT), MASK), th.tensor(BY_AGENT))
    assert th.equal(known.returns(th.tensor(BY_AGENT), MASK), th.tensor(BY_AGENT))
    assert known.networks == {}


def test_how_many_rewards_a_step_has():
    assert reward_count({"reward": {"vshape": (1,)}}, 3) == 1
    assert reward_count({"reward": {"vshape": (3,)}}, 3) == 3
    assert reward_count({"reward": {"vshape": (1,), "group": "agents"}}, 3) == 3
    assert reward_count({}, 3) == 1


@pytest.mark.parametrize("mixer", [None, "vdn"])
def test_rewards_are_standardised_before_targets(mixer):
    learner, batch = make_learner(mixer, standardise_rewards=True)
    mask = valid_transitions(batch)
    learner.train(batch, 10, 0)
    plain, _ = make_learner(mixer)
    batch["reward"][:, :-1] = Standardisation(batch.scheme, learner.args, 1).rewards(batch, mask)
    plain.train(batch, 10, 0)
    assert learner.logger.last() == pytest.approx(plain.logger.last(), rel=1e-5)


@pytest.mark.parametrize(("mixer", "count"), [(None, 2), ("vdn", 1)])
@pytest.mark.parametrize("padding", [False, True])
def test_returns_are_standardised_after_values_were_brought_to_their_units(mixer, count, padding):
    """Values of padding are those of the networks, where nothing is legal: with them, the mean is far below."""
    settings = {"standardise_returns": True, "standardise_padding": padding, "td_lambda": 0.0}
    learner, batch = make_learner(mixer, batch=random_batch([3, 5], 6, ends="terminated"), **settings)
    norm = learner.networks["return_norm"]
    learner.train(batch, 10, 0)
    mean, var = norm.running_mean_var()
    assert mean.shape == (count,)
    assert (mean < -1000).all() if padding else (mean.abs() < 10).all()
    before = learner.mac.unroll(batch)[0]
    with th.no_grad():
        best = before.masked_fill(batch["avail_actions"] == 0, -1e9).argmax(3, keepdim=True)
        values = learner.target_mac.unroll(batch)[0].gather(3, best).squeeze(3)[:, 1:]
        values = values if mixer is None else values.sum(2, keepdim=True)
        ends, mask = batch["terminated"][:, :-1].float(), valid_transitions(batch)
        targets = batch["reward"][:, :-1] + learner.args.gamma * (1 - ends) * (values * var.sqrt() + mean)
    learner.train(batch, 20, 0)
    mean, var = norm.running_mean_var()
    targets = ((targets - mean) / var.sqrt())[mask.expand_as(targets) > 0]
    assert learner.logger.last()["target_mean"] == pytest.approx(targets.mean().item() / 2, rel=1e-4)
