"""Standardised rewards and returns: of the team and of agents, with and without EPyMARL's padding."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch as th

from learners.standardisation import Standardisation, reward_count

# two episodes of two steps and of one; the rest is padding
MASK = th.tensor([[1.0, 1.0], [1.0, 0.0]]).unsqueeze(2)
BY_AGENT = [[[1.0, 10.0], [2.0, 30.0]], [[6.0, 20.0], [0.0, 0.0]]]


def standardisation(agents, **settings):
    args = {"standardise_rewards": True, "standardise_returns": True, "standardise_padding": False, "n_agents": agents}
    return Standardisation({"reward": {"vshape": (agents,)}}, SimpleNamespace(**{**args, **settings}), agents)


def by_hand(values):
    """Mean and deviation after a batch: a first mean 0 and variance 1 weigh 1e-4, the batch's variance is unbiased."""
    n, first = len(values), 1e-4
    mean, var = np.mean(values), np.var(values, ddof=1)
    share = n / (n + first)
    var = (1 - share) + share * var + share * (1 - share) * mean**2
    return share * mean, np.sqrt(var)


def batch_of(rewards):
    """As learners get it: with one more column."""
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
