"""OMAR: its losses and the actions that it tries against NumPy, and a policy that leaves a poor local maximum."""

import numpy as np
import pytest
import torch as th
import torch.nn as nn

from off_policy import agent_outputs, critic_outputs, differences, make_learner, make_sample, numeric, units_of
from off_policy import require_gradients as require
from utils.errors import ConfigError

OMAR = {"learner": "omar_learner", "deviation": "none", "squash": "tanh", "critics": 2}


def omar_learner(n_agents=1, **changes):
    return make_learner(n_agents, **OMAR | changes)


def q_of(learner, obs, units, estimate=0):
    return critic_outputs(learner.critic, np.concatenate([obs, units], axis=-1), estimate)[..., 0]


def best_by_hand(learner, obs, own, noises):
    """The best of one agent's tries in one state, by a loop over them: `own` is its action, `noises` `[J, C, K]`."""
    args = learner.args
    mean, deviation = np.full_like(own, args.omar_mean), np.full_like(own, args.omar_deviation)
    best, best_value = own, q_of(learner, obs, own)
    for noise in noises:
        tried = [np.clip(mean + deviation * each, -1, 1) for each in noise]
        values = [q_of(learner, obs, each) for each in tried]
        for each, value in zip(tried, values, strict=True):
            if value > best_value:
                best, best_value = each, value
        powers = [np.exp(args.omar_beta * value) for value in values]
        mean = sum(p * each for p, each in zip(powers, tried, strict=True)) / sum(powers)
        spread = sum(p * (each - mean) ** 2 for p, each in zip(powers, tried, strict=True)) / sum(powers)
        deviation = np.sqrt(spread)
    return best, best_value


@pytest.mark.parametrize("n_agents", [1, 2])
def test_the_best_of_all_tries_by_numpy(n_agents):
    changes = {"omar_iterations": 3, "omar_samples": 4, "omar_mean": 0.1, "omar_deviation": 0.6, "omar_beta": 2.0}
    learner, mac = omar_learner(n_agents, **changes)
    batch = make_sample(n_agents=n_agents)
    now, obs = learner.transitions(batch), numeric(batch).obs[:, 0]
    own = np.tanh(agent_outputs(mac, obs))
    value = q_of(learner, obs, own)
    np.random.seed(3)
    best, best_value = learner._best_tried(now, th.as_tensor(own).float(), th.as_tensor(value).float())
    np.random.seed(3)
    noises = np.stack([np.random.standard_normal((4, 6, n_agents, 2)).astype(np.float32) for _ in range(3)])
    kept = 0
    for b in range(6):
        for agent in range(n_agents):
            expected, of_expected = best_by_hand(learner, obs[b, agent], own[b, agent], noises[:, :, b, agent])
            assert best[b, agent].numpy() == pytest.approx(expected, abs=1e-5)
            assert float(best_value[b, agent]) == pytest.approx(of_expected, abs=1e-5)
            kept += np.array_equal(expected, own[b, agent])
    assert kept < 6 * n_agents


def test_a_policy_that_is_better_than_all_tries_is_kept():
    learner, _ = omar_learner()
    now = learner.transitions(make_sample())
    own = th.full_like(now.taken, 0.25)
    best, value = learner._best_tried(now, own, th.full((6, 1), 1e6))
    assert th.equal(best, own) and bool((value == 1e6).all())


def test_its_losses_by_numpy_and_their_gradient():
    learner, mac = omar_learner(cql_actions=3, cql_weight=0.7, omar_weight=0.4, omar_samples=4, omar_iterations=2)
    batch = make_sample()
    x, now = numeric(batch), learner.transitions(batch)
    obs, taken = x.obs[:, 0, 0], units_of(x.actions[:, 0, 0])
    np.random.seed(7)
    loss, logged = learner._critic_loss(now, True)
    np.random.seed(7)
    plain, _ = super(type(learner), learner)._critic_loss(now, False)
    uniform = (np.random.random((3, 6, 1, 2)) * 2 - 1)[:, :, 0]
    gaps = [
        np.log(np.mean([4 * np.exp(q_of(learner, obs, each, e)) for each in uniform], axis=0))
        - q_of(learner, obs, taken, e)
        for e in range(2)
    ]
    assert float(logged["cql_loss"]) == pytest.approx(np.mean(gaps, axis=1).sum(), rel=1e-4)
    assert float(loss.detach()) == pytest.approx(float(plain.detach()) + 0.7 * np.mean(gaps, axis=1).sum(), rel=1e-4)

    own = np.tanh(agent_outputs(mac, obs))
    np.random.seed(8)
    noises = np.stack([np.random.standard_normal((4, 6, 1, 2)).astype(np.float32) for _ in range(2)])
    best = np.stack([best_by_hand(learner, obs[b], own[b], noises[:, :, b, 0])[0] for b in range(6)])

    def policy_loss():
        units = np.tanh(agent_outputs(mac, obs))
        return -0.6 * q_of(learner, obs, units).mean() + 0.4 * ((units - best) ** 2).mean()

    expected, first = differences(policy_loss, mac.parameters()), policy_loss()
    np.random.seed(8)
    found = learner._learn_policy(now)
    assert float(found["pg_loss"]) == pytest.approx(first, rel=1e-5)
    gain = [q_of(learner, obs, best).mean() - q_of(learner, obs, own).mean(), ((own - best) ** 2).mean()]
    assert [float(found["omar_gain"]), float(found["omar_distance"])] == pytest.approx(gain, rel=1e-4)
    require(mac.parameters(), expected)


class TwoHills(nn.Module):
    """Q of an agent's first number: a hill of height 0.5 around -0.6, and one of height 1 around 0.7."""

    central = False

    def forward(self, field, taken, own=None, estimates=slice(None)):
        x = (taken if own is None else own)[..., 0]
        return (0.5 * (-((x + 0.6) ** 2) / 0.05).exp() + (-((x - 0.7) ** 2) / 0.05).exp()).unsqueeze(0)


@pytest.mark.parametrize(("weight", "where"), [(0.0, -0.6), (0.9, 0.7)])
def test_a_policy_leaves_a_poor_local_maximum_only_by_trying(weight, where):
    """The motivating example of the paper (section 3.3): gradient ascent alone stays on the lower hill."""
    learner, mac = omar_learner(2, omar_weight=weight, lr=0.01)
    with th.no_grad():
        for parameter in mac.parameters():
            parameter.mul_(0.1)
        mac.agent.fc3.bias.fill_(np.arctanh(-0.5))
    learner.critic = TwoHills()
    np.random.seed(1)
    now = learner.transitions(make_sample(n_agents=2))
    for _ in range(300):
        learner._learn_policy(now)
    assert learner._acting(now)[..., 0].numpy() == pytest.approx(where, abs=0.05)


def test_what_it_does_not_take():
    with pytest.raises(ConfigError, match=r"needs continuous actions\. Use learner=cql_learner"):
        make_learner(choices=3, learner="omar_learner")
    with pytest.raises(ConfigError, match=r"for all agents at once\. Use update_order=together"):
        omar_learner(2, update_order="random")
