"""TQC: targets, losses and gradients against the paper's formulas in NumPy."""

import numpy as np
import pytest

from off_policy import (
    SAC,
    agent_outputs,
    critic_outputs,
    differences,
    drawn,
    make_learner,
    make_sample,
    noise_of,
    numeric,
    require_gradients,
    units_of,
)
from utils.errors import ConfigError

ENDED = np.array([1, 0, 0, 1, 0, 0])
TQC = {**SAC, "learner": "tqc_learner", "critic": "quantiles_own", "critics": 2, "critic_quantiles": 3}
TQC |= {"dropped_quantiles": 1, "tune_entropy": False, "entropy_weight": 0.7}


def quantiles(critic, obs, units):
    """Of both critics, `[2, B, 3]`."""
    return np.stack([critic_outputs(critic, np.concatenate([obs, units], axis=-1), k) for k in range(2)])


def targets_of(learner, mac, x, noise):
    """`[4, B]`: the two largest of six quantiles are left out."""
    units, log_prob = drawn(agent_outputs(mac, x.obs[:, 1, 0]), noise)
    pooled = np.sort(quantiles(learner.target_critic, x.obs[:, 1, 0], units).transpose(0, 2, 1).reshape(6, -1), axis=0)
    return x.reward[:, 0, 0] + 0.9 * (1 - ENDED) * (pooled[:4] - 0.7 * log_prob)


def huber_loss(values, targets):
    """By two loops: of one critic's three quantiles and four targets."""
    total = 0.0
    for m, value in enumerate(values):
        for target in targets:
            delta = target - value
            huber = 0.5 * delta**2 if abs(delta) <= 1 else abs(delta) - 0.5
            total += abs((m + 0.5) / 3 - (delta < 0)) * huber
    return total / 12


def test_targets_leave_out_the_largest_quantiles_of_all_critics():
    learner, mac = make_learner(**TQC)
    batch = make_sample()
    np.random.seed(7)
    found = learner.targets_of(learner.transitions(batch))
    np.testing.assert_allclose(found[..., 0], targets_of(learner, mac, numeric(batch), noise_of(7)), rtol=1e-4)


def test_the_critics_loss_and_gradients():
    learner, mac = make_learner(**TQC)
    batch = make_sample()
    x = numeric(batch)
    targets, taken = targets_of(learner, mac, x, noise_of(7)), units_of(x.actions[:, 0, 0])

    def loss():
        values = quantiles(learner.critic, x.obs[:, 0, 0], taken)
        return sum(np.mean([huber_loss(values[e, b], targets[:, b]) for b in range(6)]) for e in range(2))

    expected, expected_loss = differences(loss, learner.critic.parameters()), loss()
    np.random.seed(7)
    assert learner.test_loss(batch) == pytest.approx(expected_loss, rel=1e-4)
    np.random.seed(7)
    logged = learner._learn_values(learner.transitions(batch))
    assert float(logged["critic_loss"]) == pytest.approx(expected_loss, rel=1e-4)
    require_gradients(learner.critic.parameters(), expected)


def test_the_policy_goes_up_the_mean_of_all_quantiles():
    learner, mac = make_learner(**TQC)
    batch = make_sample()
    obs, noise = numeric(batch).obs[:, 0, 0], noise_of(7)

    def loss():
        units, log_prob = drawn(agent_outputs(mac, obs), noise)
        return np.mean(0.7 * log_prob - quantiles(learner.critic, obs, units).mean(axis=(0, 2)))

    expected = differences(loss, mac.agent.parameters())
    np.random.seed(7)
    learner._learn_policy(learner.transitions(batch))
    require_gradients(mac.agent.parameters(), expected, tolerance=5e-3)


def test_importance_weights_give_new_priorities():
    learner, _ = make_learner(**TQC)
    learner.train(make_sample(weights=np.full(6, 0.5, dtype=np.float32)), 0, 0)
    assert learner.new_priorities.shape == (6,) and (learner.new_priorities > 0).all()


def test_what_does_not_go_together_is_refused():
    with pytest.raises(ConfigError, match=r"^dropped_quantiles=3 leaves none of critic_quantiles=3"):
        make_learner(**{**TQC, "dropped_quantiles": 3})

    with pytest.raises(ConfigError, match=r"^learner=tqc_learner has no state values\. Use value_network=False"):
        make_learner(**TQC, value_network=True)


def test_the_entropy_of_the_team_counts_all_policies():
    found = {}
    for key in (False, True):
        learner, mac = make_learner(2, **TQC, team_entropy=key)
        batch = make_sample(n_agents=2)
        np.random.seed(7)
        found[key] = learner.targets_of(learner.transitions(batch)).numpy()
    np.random.seed(7)
    _, log_prob, _ = learner._drawn(mac.policy_at(batch, 1))
    others = log_prob.detach().numpy()[:, ::-1]
    np.testing.assert_allclose(
        found[True] - found[False], np.broadcast_to(-0.63 * (1 - ENDED)[:, None] * others, (4, 6, 2)), atol=1e-5
    )


def test_choices_have_quantiles_of_their_own():
    learner, mac = make_learner(choices=4, **TQC)
    batch = make_sample(choices=4)
    x = numeric(batch)
    obs, chosen = x.obs[:, :, 0], x.actions[:, 0, 0, 0].astype(int)

    def of_choices(critic, t):  # [2, B, 4, 3]
        return np.stack([critic_outputs(critic, obs[:, t], k).reshape(6, 4, 3) for k in range(2)])

    now = learner.transitions(batch)
    np.testing.assert_allclose(
        learner.taken_values(now)[:, :, 0].detach(), of_choices(learner.critic, 0)[:, np.arange(6), chosen], rtol=1e-4
    )
    logits = np.where(x.avail_actions[:, 1, 0] > 0, agent_outputs(mac, obs[:, 1]), -np.inf)
    probs = np.exp(logits) / np.exp(logits).sum(-1, keepdims=True)
    pooled = np.sort(of_choices(learner.target_critic, 1).transpose(0, 3, 1, 2).reshape(6, 6, 4), axis=0)[:4]
    with np.errstate(divide="ignore"):
        every = x.reward[:, 0, 0, None] + 0.9 * (1 - ENDED)[:, None] * (pooled - 0.7 * np.log(probs))
    found = learner.targets_of(now)[..., 0].numpy()  # of the choice that was drawn, one of the legal ones
    near = np.abs(every - found[..., None]).max(axis=0)
    assert (np.where(probs > 0, near, np.inf).min(axis=1) < 1e-4).all()
    learner.train(batch, 0, 0)
