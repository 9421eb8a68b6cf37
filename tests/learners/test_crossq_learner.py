"""CrossQ: its critics against torch's batch normalisation, renormalisation by the paper's formula, its targets."""

import numpy as np
import pytest
import torch as th
import torch.nn as nn

from modules.critics.normalised_values import EPSILON, SHARE, WARM_UP, BatchRenorm
from off_policy import SAC, agent_outputs, drawn, make_learner, make_sample, noise_of, numeric, units_of
from utils.errors import ConfigError

CROSSQ = {**SAC, "learner": "crossq_learner", "critic": "q_own_normalised", "critics": 2}
CROSSQ |= {"target_update_interval_or_tau": None, "tune_entropy": False, "entropy_weight": 0.7}
ENDED = np.array([1, 0, 0, 1, 0, 0])


def with_batch_norms(critic, x, estimate):
    """The values of one critic for rows `[N, I]` by torch's own layers, which normalise by the rows' moments."""
    layers, x = critic.layers, x.detach()
    for number, (weight, bias) in enumerate(zip(layers.weights, layers.biases, strict=True)):
        norm, of = layers.norms[number], estimate if number else 0
        theirs = nn.BatchNorm1d(x.size(1), eps=EPSILON)
        with th.no_grad():
            theirs.weight.copy_(norm.scale[of].flatten())
            theirs.bias.copy_(norm.shift[of].flatten())
        x = theirs(x) @ weight[estimate, 0] + bias[estimate, 0]
        x = x.relu() if number < 2 else x
    return x.squeeze(1).detach()


def changed(critic):
    """Scales and shifts that are not 1 and 0, and running moments of their own."""
    with th.no_grad():
        for norm in critic.layers.norms:
            for weight in (norm.scale, norm.shift, norm.mean):
                weight.add_(th.randn_like(weight), alpha=0.3)
            norm.variance.mul_(1.7)


def test_values_and_targets_come_from_one_batch_of_both_steps():
    learner, mac = make_learner(**CROSSQ)
    changed(learner.critic)
    batch = make_sample()
    x = numeric(batch)
    units, log_prob = drawn(agent_outputs(mac, x.obs[:, 1, 0]), noise_of(7))
    now, following = (x.obs[:, 0, 0], units_of(x.actions[:, 0, 0])), (x.obs[:, 1, 0], units)
    rows = th.as_tensor(np.concatenate([np.concatenate(pair, axis=1) for pair in (now, following)])).float()
    both = [with_batch_norms(learner.critic, rows, e) for e in range(2)]
    soft = th.stack([values[6:] for values in both]).amin(dim=0).numpy() - 0.7 * log_prob
    np.random.seed(7)
    values, targets = learner._values_and_targets(learner.transitions(batch))
    np.testing.assert_allclose(targets[:, 0], x.reward[:, 0, 0] + 0.9 * (1 - ENDED) * soft, rtol=1e-4)
    np.testing.assert_allclose(values[..., 0].detach(), th.stack([v[:6] for v in both]), rtol=1e-4, atol=1e-5)
    assert not targets.requires_grad and values.requires_grad and not learner.target_networks


def test_running_moments_follow_and_judge_otherwise():
    learner, _ = make_learner(**CROSSQ)
    batch, norm = make_sample(), learner.critic.layers.norms[0]
    x = numeric(batch)
    now = learner.transitions(batch)
    before = learner.taken_values(now)
    rows = np.concatenate([x.obs[:, 0, 0], x.obs[:, 1, 0]])
    learner._values_and_targets(now)
    np.testing.assert_allclose(norm.mean[0, 0, 0, :3], SHARE * rows.mean(axis=0), rtol=1e-4)
    np.testing.assert_allclose(norm.variance[0, 0, 0, :3], 1 - SHARE + SHARE * rows.var(axis=0), rtol=1e-4)
    assert norm.batches == 1
    after = learner.taken_values(now)
    assert not th.allclose(before, after)
    assert th.equal(after, learner.taken_values(now))  # judging moves nothing


def test_after_the_warm_up_batches_are_corrected_towards_the_running_moments():
    norm = BatchRenorm(1, 1, 1, 2)
    norm.mean.copy_(th.tensor([0.5, 90.0]).view_as(norm.mean))
    norm.variance.copy_(th.tensor([4.0, 1e-6]).view_as(norm.variance))
    x = th.randn(1, 1, 8, 2, generator=th.Generator().manual_seed(3)) * 2 + 1
    plain = norm.learning(x, th.ones(1, 8, 1))
    mean, deviation = x.mean(dim=2), (x.var(dim=2, correction=0) + EPSILON).sqrt()
    np.testing.assert_allclose(plain.detach()[0, 0], ((x - mean) / deviation)[0, 0], rtol=1e-4, atol=1e-5)
    norm.batches.fill_(WARM_UP)
    running = norm.mean.clone(), (norm.variance + EPSILON).sqrt()
    found = norm.learning(x, th.ones(1, 8, 1))[0, 0].detach().numpy()
    # the first feature is within the bounds: what comes out is as by the running moments
    np.testing.assert_allclose(found[:, 0], ((x - running[0]) / running[1])[0, 0, :, 0], rtol=1e-4, atol=1e-4)
    # the second has a deviation more than 3 times the running one, and a mean more than 5 of these below
    expected = ((x - mean) / deviation)[0, 0, :, 1] * 3 - 5
    np.testing.assert_allclose(found[:, 1], expected, rtol=1e-4, atol=1e-4)


def test_rows_of_absent_agents_count_in_no_moment():
    x = th.randn(2, 1, 5, 3)
    counted = th.tensor([1.0, 1, 0, 1, 0]).view(1, 5, 1)
    whole, part = BatchRenorm(2, 1, 1, 3), BatchRenorm(2, 1, 1, 3)
    found = whole.learning(x, counted)
    expected = part.learning(x[:, :, [0, 1, 3]], th.ones(1, 3, 1))
    assert th.allclose(found[:, :, [0, 1, 3]], expected, atol=1e-6)
    assert th.allclose(whole.variance, part.variance) and th.allclose(whole.mean, part.mean)


def test_absent_agents_change_no_value_of_the_others():
    learner, _ = make_learner(2, **CROSSQ)
    taken, mask = th.rand(2, 6, 2, 2) * 2 - 1, th.tensor([[1.0, 1], [1, 0], [0, 1], [1, 1], [1, 1], [0, 1]])
    obs = th.randn(2, 6, 2, 3)
    found = []
    for absent in (0.0, 50.0):
        seen = th.where(mask.unsqueeze(-1) > 0, obs, absent)
        found.append(learner.critic.of_both([lambda _, x=x: x for x in seen], taken, mask))
    for values, others in zip(*found, strict=True):
        assert th.allclose(values * mask, others * mask, atol=1e-5) and not th.allclose(values, others)


@pytest.mark.parametrize(("critic", "share"), [("q_own_normalised", False), ("q_central_normalised", True)])
@pytest.mark.parametrize("choices", [0, 3])
def test_teams_and_choices_learn(critic, share, choices):
    settings = CROSSQ if not choices else {key: x for key, x in CROSSQ.items() if key not in ("deviation", "squash")}
    learner, mac = make_learner(
        2, choices, **settings | {"critic": critic, "share_critic_params": share, "rnn_hidden_dim": 16}
    )
    before = [weight.clone() for weight in (*learner.critic.parameters(), *mac.parameters())]
    learner.train(make_sample(n_agents=2, choices=choices), 0, 0)
    after = [*learner.critic.parameters(), *mac.parameters()]
    assert all((x != y).any() and y.isfinite().all() for x, y in zip(before, after, strict=True))


@pytest.mark.parametrize(("key", "value"), [("value_network", True), ("target_update_interval_or_tau", 0.1)])
def test_what_it_has_not_is_refused(key, value):
    with pytest.raises(ConfigError, match=rf"^{key}={value}: learner=crossq_learner has neither"):
        make_learner(**CROSSQ | {key: value})
