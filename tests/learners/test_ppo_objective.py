"""PPO's objective: its values by hand, and its derivatives against autograd's."""

import pytest
import torch as th

from learners.clipped_surrogate import clipped_surrogate
from learners.q_targets import masked_mean
from learners.rollout_passes import mean_square


def by_autograd(log_prob, old, advantages, weights, eps):
    ratio = (log_prob - old).masked_fill(weights == 0, 0.0).exp()
    return -masked_mean(th.minimum(ratio * advantages, ratio.clamp(1 - eps, 1 + eps) * advantages), weights)


def test_by_hand():
    """Ratios 1.5, 1.5, 0.5, 0.5 and 1.1, advantages of both signs; the last row does not count."""
    log_prob = th.tensor([1.5, 1.5, 0.5, 0.5, 1.1, 7.0]).log().requires_grad_()
    advantages, weights = th.tensor([2.0, -2.0, 2.0, -2.0, 1.0, 9.0]), th.tensor([1.0, 1.0, 1.0, 1.0, 1.0, 0.0])
    loss, ratio, log_ratio = clipped_surrogate(log_prob, th.zeros(6), advantages, weights, 0.2)
    # 1.2 * 2, 1.5 * -2, 0.5 * 2, 0.8 * -2, 1.1
    assert loss.item() == pytest.approx(-(2.4 - 3.0 + 1.0 - 1.6 + 1.1) / 5)
    assert ratio.tolist() == pytest.approx([1.5, 1.5, 0.5, 0.5, 1.1, 1.0])
    assert not ratio.requires_grad and log_ratio[5] == 0
    (3 * loss).backward()
    # only the terms that are not clipped change: minus ratio times advantage, over 5
    assert log_prob.grad.tolist() == pytest.approx([0, 3 * 3.0 / 5, -3 * 1.0 / 5, 0, -3 * 1.1 / 5, 0])


def test_derivatives_are_those_of_autograd():
    generator = th.Generator().manual_seed(1)
    draw = lambda: th.randn(40, 3, dtype=th.float64, generator=generator)  # noqa: E731
    old, advantages, values, returns = draw(), draw(), draw(), draw()
    weights = th.rand(40, 3, dtype=th.float64, generator=generator) * (draw() > -0.5)
    ours, theirs = (old + 0.4 * advantages.sin()).requires_grad_(), (old + 0.4 * advantages.sin()).requires_grad_()
    loss, *_ = clipped_surrogate(ours, old, advantages, weights, 0.2)
    expected = by_autograd(theirs, old, advantages, weights, 0.2)
    loss.backward()
    expected.backward()
    assert loss.item() == pytest.approx(expected.item(), abs=1e-14)
    assert th.allclose(ours.grad, theirs.grad, rtol=0, atol=1e-15)
    assert 0 < (ours.grad == 0).sum() < ours.numel() and ours.grad.abs().max() > 1e-3
    values.requires_grad_()
    assert th.autograd.gradcheck(lambda x: mean_square(x, returns, weights), values)
    expected = masked_mean((values - returns) ** 2, weights)
    assert mean_square(values, returns, weights).item() == pytest.approx(expected.item(), abs=1e-14)


def test_where_nothing_counts_there_is_nothing_to_learn():
    log_prob, values = th.randn(4, 1).requires_grad_(), th.randn(4, 1).requires_grad_()
    nothing = th.zeros(4, 1)
    loss = clipped_surrogate(log_prob, log_prob.detach() - 1, th.ones(4, 1), nothing, 0.2)[0]
    (loss + mean_square(values, nothing, nothing)).backward()
    assert loss == 0 and not log_prob.grad.any() and not values.grad.any()
