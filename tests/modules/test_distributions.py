"""Distributions of actions against numerical integration, counting and enumeration."""

import itertools
import math

import numpy as np
import pytest
import torch as th
from hypothesis import given
from hypothesis import strategies as st

from modules.policies.distributions import Bernoulli, Categorical, Gaussian, Joint, TanhGaussian

CENTRE, SCALE = th.tensor([1.0]), th.tensor([2.0])


def gaussian(kind, mean, deviation):
    return kind(th.tensor([mean]), th.tensor([deviation]).log(), CENTRE, SCALE)


def integral(y, x):
    return float(th.trapezoid(y, x))


@pytest.mark.parametrize("fixed", [True, False])
def test_densities_of_squashed_actions_equal_digideeps(fixed):
    """log N(z) - log(1 - tanh(z)^2 + 1e-6), near bounds, too, where the exact one is another; and its gradients."""
    means = th.tensor([[0.3, -2.0], [6.0, -9.0]], requires_grad=True)
    log_std = th.tensor([[-1.0, 0.0], [0.5, 0.2]], requires_grad=True)
    noise, whole = means.detach() / 5, (th.zeros(2), th.ones(2))
    z = means + log_std.exp() * noise
    z = z.detach() if fixed else z
    density = th.distributions.Normal(means, log_std.exp()).log_prob(z) - th.log(1 - th.tanh(z) ** 2 + 1e-6)
    wanted = th.autograd.grad(density.sum(), (means, log_std))
    drawn = TanhGaussian(means, log_std, *whole, added=1e-6).drawn(noise, fixed)
    th.testing.assert_close(drawn.log_prob, density.sum(dim=-1))
    for found, gradient in zip(th.autograd.grad(drawn.log_prob.sum(), (means, log_std)), wanted, strict=True):
        th.testing.assert_close(found, gradient, rtol=1e-4, atol=1e-5)
    th.testing.assert_close(drawn.units, th.tanh(z))
    exact = TanhGaussian(means, log_std, *whole).drawn(noise)
    assert abs(float(exact.log_prob[1] - drawn.log_prob[1])) > 1
    th.testing.assert_close(exact.log_prob[0], drawn.log_prob[0], atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize(("mean", "deviation"), [(0.0, 1.0), (1.5, 0.3), (-0.7, 2.0)])
def test_a_gaussians_density_and_entropy(mean, deviation):
    d = gaussian(Gaussian, mean, deviation)
    x = th.linspace(-40, 40, 400001, dtype=th.float64)
    log_prob = d.log_prob(x.unsqueeze(-1))
    assert integral(log_prob.exp(), x) == pytest.approx(1, abs=1e-5)
    assert integral(log_prob.exp() * x, x) == pytest.approx(float(d.mode()), abs=1e-4)
    assert float(d.entropy()) == pytest.approx(integral(-log_prob.exp() * log_prob, x), abs=1e-4)


@pytest.mark.parametrize(("mean", "deviation"), [(0.0, 1.0), (1.0, 0.5), (2.0, 1.0), (0.3, 2.0), (-1.0, 3.0)])
def test_a_squashed_gaussians_density_and_entropy(mean, deviation):
    d = gaussian(TanhGaussian, mean, deviation)
    # over the Gaussian's number u, where the integrand is smooth: a = 1 + 2 tanh(u), da = 2 (1 - tanh(u)^2) du
    u = th.linspace(-6.5, 6.5, 200001, dtype=th.float64)
    density = th.exp(-(((u - mean) / deviation) ** 2) / 2) / (deviation * math.sqrt(2 * math.pi))
    slope = 2 * (1 - th.tanh(u) ** 2)
    log_prob = d.log_prob((1 + 2 * th.tanh(u)).unsqueeze(-1))
    th.testing.assert_close(log_prob.exp() * slope, density, rtol=1e-2, atol=1e-4)
    # and the entropy beyond these numbers, too, where the slope is 8 exp(-2 |u|)
    u = th.linspace(-60, 60, 1000001, dtype=th.float64)
    density = th.exp(-(((u - mean) / deviation) ** 2) / 2) / (deviation * math.sqrt(2 * math.pi))
    log_slope = math.log(8) - 2 * u.abs() - 2 * th.log1p(th.exp(-2 * u.abs()))
    log_density = -(((u - mean) / deviation) ** 2) / 2 - math.log(deviation * math.sqrt(2 * math.pi))
    expected = integral(-density * (log_density - log_slope), u)
    assert float(d.entropy()) == pytest.approx(expected, abs=1e-3)


@pytest.mark.parametrize("kind", [Gaussian, TanhGaussian])
def test_samples_have_the_moments_of_the_density(kind):
    th.manual_seed(0)
    d = kind(th.full((200000, 1), 0.4), th.full((200000, 1), -0.5), CENTRE, SCALE)
    samples = d.sample()
    if kind is TanhGaussian:
        assert samples.min() > -1
        assert samples.max() < 3
    entropy = -d.log_prob(samples).mean()
    assert float(entropy) == pytest.approx(float(d.entropy()[0]), abs=0.01)


@given(st.lists(st.floats(-20, 20), min_size=2, max_size=6), st.data())
def test_choices_are_those_of_the_softmax_of_legal_ones(logits, data):
    legal = data.draw(st.lists(st.booleans(), min_size=len(logits), max_size=len(logits)).filter(any))
    d = Categorical(th.tensor([logits]), th.tensor([legal]))
    weights = np.where(legal, np.exp(np.array(logits) - max(logits)), 0)
    probs = weights / weights.sum() if weights.sum() > 0 else None
    if probs is not None:
        np.testing.assert_allclose(d.probs[0].numpy(), probs, atol=1e-5)
        terms = probs[probs > 0]
        assert float(d.entropy()) == pytest.approx(-(terms * np.log(terms)).sum(), abs=1e-4)
    for a in np.flatnonzero(legal):
        assert float(d.log_prob(th.tensor([a]))) == pytest.approx(
            logits[a] - np.logaddexp.reduce(np.array(logits)[legal]), abs=1e-3
        )
    assert legal[int(d.sample())]
    assert legal[int(d.mode())]


def test_where_nothing_is_legal_nothing_is_nan():
    logits = th.zeros(1, 3, requires_grad=True)
    d = Categorical(logits, th.zeros(1, 3))
    (d.log_prob(th.tensor([0])) + d.entropy()).sum().backward()
    assert logits.grad.isfinite().all()


def test_probabilities_make_the_same_choice():
    probs = th.tensor([[0.5, 0.0, 0.3, 0.2]])
    d = Categorical.of_probs(probs)
    th.testing.assert_close(d.probs, probs)
    assert float(d.entropy()) == pytest.approx(-sum(p * math.log(p) for p in (0.5, 0.3, 0.2)))


@pytest.mark.parametrize("masked", [None, 0, 1])
def test_a_mask_without_zeros_changes_nothing(masked):
    logits, mask = th.randn(4, 3), th.ones(4, 3, dtype=th.uint8)
    if masked is not None:
        mask[2, masked] = 0
    assert th.equal(Categorical(logits, mask).log_probs, th.log_softmax(logits.masked_fill(mask == 0, -1e10), dim=-1))


@pytest.mark.parametrize("rows", [50, 2])
def test_samples_are_drawn_by_torchs_exponential_numbers(rows):
    policy = Categorical(th.randn(rows, 3, 9))
    th.manual_seed(1)
    found, after = policy.sample(), th.rand(1)
    th.manual_seed(1)
    assert th.equal(found, (policy.probs / th.empty(rows, 3, 9).exponential_()).argmax(dim=-1))
    assert th.equal(after, th.rand(1))


def test_samples_are_as_frequent_as_probable():
    th.manual_seed(0)
    logits = th.tensor([0.0, 1.0, 2.0, -1.0]).expand(100000, 4)
    mask = th.tensor([1, 1, 0, 1]).expand(100000, 4)
    d = Categorical(logits, mask)
    shares = th.bincount(d.sample(), minlength=4) / 100000
    th.testing.assert_close(shares, d.probs[0], atol=0.005, rtol=0)


@pytest.mark.parametrize("legal", [(1, 1), (1, 0), (0, 1)])
@pytest.mark.parametrize("logit", [-3.0, 0.0, 1.7])
def test_yes_or_no_is_a_choice_between_two(logit, legal):
    mask = th.tensor([legal])
    one, two = Bernoulli(th.tensor([logit]), mask), Categorical(th.tensor([[0.0, logit]]), mask)
    th.testing.assert_close(one.probs, two.probs)
    th.testing.assert_close(one.entropy(), two.entropy(), atol=1e-5, rtol=1e-5)
    for action in (a for a in (0, 1) if legal[a]):
        th.testing.assert_close(one.log_prob(th.tensor([action])), two.log_prob(th.tensor([action])))
    assert legal[int(one.sample())]
    assert one.mode() == two.mode() or logit == 0


def test_branches_are_independent():
    th.manual_seed(0)
    joint = Joint({"gear": Categorical(th.randn(1, 3)), "lamp": Bernoulli(th.randn(1))})
    log_probs = [
        float(joint.log_prob({"gear": th.tensor([g]), "lamp": th.tensor([b])}))
        for g, b in itertools.product(range(3), range(2))
    ]
    assert sum(map(math.exp, log_probs)) == pytest.approx(1)
    assert float(joint.entropy()) == pytest.approx(-sum(p * math.exp(p) for p in log_probs), abs=1e-5)
    assert set(joint.sample()) == set(joint.mode()) == {"gear", "lamp"}


def test_pymarl2s_gaussian_selector_with_independent_numbers_is_this_one():
    """It draws from a normal distribution with a matrix of covariances, and takes the mean in greedy tests."""
    mean, deviation = th.tensor([[0.3, -1.0], [2.0, 0.5]]), th.tensor([[0.5, 2.0], [0.1, 1.0]])
    ours = Gaussian(mean, deviation.log(), th.zeros(2), th.ones(2))
    theirs = th.distributions.MultivariateNormal(mean, th.diag_embed(deviation**2))
    th.manual_seed(3)
    expected = theirs.sample()
    th.manual_seed(3)
    assert th.allclose(ours.sample(), expected, atol=1e-6)
    assert th.equal(ours.mode(), mean)
