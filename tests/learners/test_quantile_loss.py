"""Losses of distributions against triple loops."""

import math

import numpy as np
import pytest
import torch as th
from hypothesis import given, settings
from hypothesis import strategies as st

from gpu_runs import on_gpu, waits_so_far
from learners.quantile_loss import KEPT, LEAST, SelfLossScale, projected, quantile_huber
from modules.agents.iqn_agent import fixed_fractions, mirrored_fractions

SIZES = {"samples": st.integers(1, 4), "values": st.integers(1, 5), "targets": st.integers(1, 5)}


def by_loops(values, taus, targets, kappa):
    found = np.zeros(values.shape[1])
    for b in range(values.shape[1]):
        for i in range(len(values)):
            for j in range(len(targets)):
                delta = targets[j, b] - values[i, b]
                huber = 0.5 * delta**2 if abs(delta) <= kappa else kappa * (abs(delta) - 0.5 * kappa)
                found[b] += abs(taus[i, b] - (delta < 0)) * huber / kappa / len(targets)
    return found


@given(**SIZES, kappa=st.sampled_from([0.005, 0.3, 1.0]), seed=st.integers(0, 999))
def test_the_loss_is_a_triple_loop(samples, values, targets, kappa, seed):
    rng = np.random.default_rng(seed)
    q, tau = rng.normal(size=(values, samples)), rng.random((values, samples))
    y = rng.normal(size=(targets, samples))
    y[0, 0] = q[0, 0]  # an error of 0
    found = quantile_huber(*map(th.from_numpy, (q, tau, y)), kappa)
    np.testing.assert_allclose(found, by_loops(q, tau, y, kappa), atol=1.5e-8)


@given(half=st.integers(1, 16), rows=st.integers(1, 3), seed=st.integers(0, 99))
def test_fractions_are_stratified_and_mirrored(half, rows, seed):
    uniform = th.rand(half, rows, generator=th.Generator().manual_seed(seed))
    taus = mirrored_fractions(uniform)
    for k in range(half):
        for b in range(rows):
            expected = (k + float(uniform[k, b])) / (2 * half)
            assert float(taus[k, b]) == pytest.approx(expected, abs=1e-6)
            assert float(taus[half + k, b]) == pytest.approx(1 - expected, abs=1e-6)
    assert taus[:half].max() <= 0.5


def test_fixed_fractions_are_midpoints():
    assert fixed_fractions(4).tolist() == [0.125, 0.375, 0.625, 0.875]


def projected_by_loops(targets, probs, atoms):
    found, step = np.zeros_like(probs), atoms[1] - atoms[0]
    for b in range(targets.shape[1]):
        for j in range(len(targets)):
            place = (min(max(targets[j, b], atoms[0]), atoms[-1]) - atoms[0]) / step
            low, high = math.floor(place), math.ceil(place)
            if low == high:
                found[low, b] += probs[j, b]
            else:
                found[low, b] += probs[j, b] * (high - place)
                found[high, b] += probs[j, b] * (place - low)
    return found


@given(atoms=st.integers(2, 7), samples=st.integers(1, 3), seed=st.integers(0, 999))
@settings(max_examples=50)
def test_projections_are_those_of_the_paper(atoms, samples, seed):
    rng = np.random.default_rng(seed)
    support = np.linspace(-1.0, 2.0, atoms)
    targets = rng.normal(scale=2, size=(atoms, samples))
    targets[0] = support[-1]  # an atom itself
    probs = rng.dirichlet(np.ones(atoms), size=samples).T
    found = projected(*map(th.from_numpy, (targets, probs, support)))
    np.testing.assert_allclose(found, projected_by_loops(targets, probs, support), atol=1e-9)


def test_the_scale_follows_the_running_means():
    scale, taus = SelfLossScale(), th.tensor([[0.25], [0.75]]).expand(-1, 3)
    mean = divisor_mean = None
    for number in range(3):
        targets = th.tensor([[0.0, 0.0, 0.0], [0.0, 1.0, 4.0 + number]])
        width = np.sqrt(by_loops(targets.numpy(), taus.numpy(), targets.numpy(), 0.5))
        mean = width.mean() if mean is None else KEPT * mean + (1 - KEPT) * width.mean()
        divisor = np.maximum(width, mean / LEAST)
        new = divisor.mean()
        divisor_mean = new if divisor_mean is None else KEPT * divisor_mean + (1 - KEPT) * new
        np.testing.assert_allclose(scale(targets, taus, 0.5), divisor_mean / divisor, rtol=1e-5)
    again = SelfLossScale()
    again.load_state_dict(scale.state_dict())
    assert th.equal(again(targets, taus, 0.5), scale(targets, taus, 0.5))


def test_targets_that_are_points_are_not_scaled():
    scale = SelfLossScale()
    assert scale(th.ones(2, 3), th.full((2, 3), 0.5), 1.0).tolist() == [1.0, 1.0, 1.0]


def test_the_running_means_may_begin_at_a_number_as_linesights():
    """By hand: widths w of two samples; mean 0.99 * 0.01 + 0.01 mean(w), of which a quarter is the least divisor."""
    scale, taus = SelfLossScale(0.01), th.tensor([[0.25], [0.75]]).expand(-1, 2)
    targets = th.tensor([[0.0, 0.0], [0.0, 4.0]])
    # pairs (0, 4) of tau 0.25 and (4, 0) of 0.75: (0.25 + 0.25) * (4 - 0.25) / 2, the mean over targets
    wide = math.sqrt(0.5 * 3.75 / 2)
    mean = 0.99 * 0.01 + 0.01 * wide / 2
    divisors = np.array([mean / 4, wide])
    divisor_mean = 0.99 * 0.01 + 0.01 * divisors.mean()
    np.testing.assert_allclose(scale(targets, taus, 0.5), divisor_mean / divisors, rtol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("start", [0.0, 0.01])
def test_on_a_gpu_the_scale_is_the_same_and_waits_for_nothing(start):
    there, waits = on_gpu(_scales, start, "cuda")
    assert waits == 0
    here, _ = _scales(start, "cpu")
    th.testing.assert_close(there, here)
    assert here[0].tolist() == [1.0, 1.0] or start


def _scales(start, device):
    """Of points, of targets that differ, and of a scale that goes on from another one's state."""
    scale, taus = SelfLossScale(start), th.tensor([[0.25], [0.75]]).expand(-1, 2).to(device)
    parts = [th.ones(2, 2), *(th.tensor([[0.0, 0.0], [0.0, 4.0 + k]]) for k in range(3))]
    parts, before = [part.to(device) for part in parts], waits_so_far()
    found = [scale(part, taus, 0.5) for part in parts[:3]]
    waits = waits_so_far() - before
    again = SelfLossScale()
    again.load_state_dict(scale.state_dict())
    return [x.cpu() for x in (*found, again(parts[3], taus, 0.5))], waits
