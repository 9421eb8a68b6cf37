"""Running normalisation."""

import copy

import numpy as np
import pytest
import torch as th
from hypothesis import given
from hypothesis import strategies as st

from components.normalisers import ReturnScale, RunningNorm


@pytest.mark.parametrize("clip", [None, 1.5])
def test_arrays_become_what_tensors_become(clip):
    norm = RunningNorm(3, clip, first_count=1e-4)
    norm.update(th.randn(50, 3) * 4 + 2)
    values = np.random.default_rng(0).normal(2, 9, (20, 2, 3)).astype(np.float32)
    values[3, 1, 2], values[4, 0, 0] = np.nan, np.inf
    found = np.zeros((20, 2, 5), dtype=np.float32)  # part of a larger array
    norm.normalize_into(values, found[..., 1:4])
    wanted = norm.normalize(values).numpy()
    assert np.array_equal(found[..., 1:4], wanted, equal_nan=True)
    assert not found[..., [0, 4]].any()


def test_by_hand_and_padding_is_not_seen():
    """Values 1, 3 and 5, 7, 9 in two updates: mean 5, variance (16 + 4 + 0 + 4 + 16) / 5 = 8."""
    norm = RunningNorm()
    assert norm.normalize(th.tensor([2.0, -3.0])).tolist() == [2, -3], "nothing seen yet"
    norm.update(th.tensor([[1.0, 3.0, 99.0]]), mask=th.tensor([[1.0, 1.0, 0.0]]))
    norm.update(np.array([5.0, 7.0, 9.0]))
    norm.update(th.tensor([77.0]), mask=th.tensor([0]))
    assert [x.item() for x in norm.running_mean_var()] == pytest.approx([5, 8])
    assert norm.count == 5
    normalised = norm.normalize(th.tensor([5.0, 5 + 8**0.5]))
    assert normalised.dtype == th.float32
    assert normalised.tolist() == pytest.approx([0, 1])
    assert norm.denormalize(normalised).tolist() == pytest.approx([5, 5 + 8**0.5])


@given(
    st.lists(st.lists(st.tuples(st.floats(-1e3, 1e3), st.floats(-1, 1)), max_size=5), min_size=1, max_size=5),
    st.integers(0, 99),
)
def test_parts_give_the_same_as_all_values_at_once(parts, seed):
    norm, rng = RunningNorm(2), np.random.default_rng(seed)
    kept = []
    for part in parts:
        values, mask = np.array(part, dtype=np.float32).reshape(-1, 1, 2), rng.integers(2, size=(len(part), 1))
        norm.update(values, th.tensor(mask))
        kept.append(values[mask > 0])
    seen = np.concatenate(kept).astype(np.float64)
    assert norm.count == len(seen)
    if len(seen):
        np.testing.assert_allclose(norm.mean.numpy(), seen.mean(axis=0), atol=1e-6)
        np.testing.assert_allclose(norm.var.numpy(), seen.var(axis=0), atol=1e-4)


def test_values_that_never_change_and_those_far_away_stay_finite_and_within_the_clip():
    norm = RunningNorm(2, clip=3.0)
    norm.update(th.tensor([[4.0, 0.0], [4.0, 2.0]]))
    assert norm.normalize(th.tensor([[4.0, 1.0], [5.0, -9.0]])).tolist() == [[0, 0], [3, -3]]


def test_frozen_it_takes_nothing_in_and_its_state_is_all_it_knows():
    norm = RunningNorm(1)
    norm.update(th.tensor([[1.0], [3.0]]))
    norm.freeze()
    norm.update(th.tensor([[50.0]]))
    other = RunningNorm(1)
    other.load_state_dict(norm.state_dict())
    other.update(th.tensor([[50.0]]))
    assert [x.item() for x in other.running_mean_var()] == [2, 1]
    other.freeze(False)
    other.update(th.tensor([[5.0]]))
    assert other.mean.item() == pytest.approx(3)
    assert norm.mean.item() == 2
    assert not list(norm.parameters())


@pytest.mark.parametrize("change", ["update", "load", "deepcopy and update"])
def test_values_are_normalised_by_the_present_moments(change):
    norm, other = RunningNorm(1), RunningNorm(1)
    norm.update(th.tensor([[0.0], [2.0]]))
    assert norm.normalize(th.tensor([[3.0]])).item() == pytest.approx(2)
    other.update(th.tensor([[1.0], [5.0]]))
    if change == "load":
        norm.load_state_dict(other.state_dict())
        assert norm.normalize(th.tensor([[3.0]])).item() == pytest.approx(0)
        assert norm.denormalize(th.tensor([[1.0]])).item() == pytest.approx(5)
        return
    changed = copy.deepcopy(norm) if change == "deepcopy and update" else norm
    changed.update(th.tensor([[4.0], [6.0]]))
    assert changed.normalize(th.tensor([[3.0]])).item() == pytest.approx(0)
    assert (norm.normalize(th.tensor([[3.0]])).item() == pytest.approx(2)) == (changed is not norm)


class TestDigideeps:
    """Its `Normalizer`: mean 0 and variance 1 count as 1e-4 values, (x - mean) / sqrt(variance + 1e-8) within +-10."""

    @staticmethod
    def moments(steps):
        mean, var, count = 0.0, 1.0, 1e-4
        for x in steps:
            delta, total = x.mean(axis=0) - mean, count + len(x)
            squares = var * count + x.var(axis=0) * len(x) + delta**2 * count * len(x) / total
            mean, var, count = mean + delta * len(x) / total, squares / total, total
        return mean, var

    @pytest.mark.parametrize("workers", [1, 4])
    @pytest.mark.parametrize("steps", [1, 2, 50])
    def test_observations(self, steps, workers):
        rng = np.random.default_rng(steps)
        seen = rng.normal(3, [0, 1e-4, 1, 50], (steps, workers, 4)).astype(np.float32)
        mean, var = self.moments(seen.astype(np.float64))
        norm = RunningNorm(4, clip=10.0, first_count=1e-4)
        norm.update(seen.swapaxes(0, 1))
        values = np.concatenate([seen.reshape(-1, 4), rng.normal(3, 2, (5, 4)).astype(np.float32)])
        expected = ((values - mean) / np.sqrt(var + 1e-8)).clip(-10, 10)
        np.testing.assert_allclose(norm.normalize(values), expected, rtol=1e-4, atol=2e-3)

    @pytest.mark.parametrize("steps", [1, 50])
    def test_rewards(self, steps):
        rewards = np.random.default_rng(steps).normal(2, 3, (steps, 4)).astype(np.float32)
        rewards[-1, -1] = 99
        scale = ReturnScale(0.9, of="rewards", clip=10.0, first_count=1e-4)
        expected = (rewards / np.sqrt(self.moments(rewards.astype(np.float64))[1] + 1e-8)).clip(-10, 10)
        ours, never = th.from_numpy(rewards.T).unsqueeze(2), th.zeros(4, steps, 1)
        found = scale(ours, never, 1 - never, th.zeros(4, 1))
        np.testing.assert_allclose(found.squeeze(2).numpy().T, expected, rtol=1e-5)
        assert steps == 1 or expected.max() == 10


def test_rewards_are_divided_by_the_deviation_of_returns():
    scale, so_far = ReturnScale(0.5), th.zeros(2, 1)
    rewards = th.tensor([[1.0, 2.0, 0.0, 4.0], [3.0, 0.0, 1.0, 1.0]]).unsqueeze(2)
    ended = th.tensor([[0, 1, 0, 0], [0, 0, 0, 0]]).unsqueeze(2).float()
    mask = th.tensor([[1, 1, 0, 1], [1, 1, 1, 1]]).unsqueeze(2).float()
    found = scale(rewards, ended, mask, so_far)
    returns = [1, 0.5 + 2, 4, 3, 1.5, 0.75 + 1, 0.875 + 1]
    th.testing.assert_close(found, rewards / np.std(returns))
    assert so_far.flatten().tolist() == [4, 1.875]
    # the episodes continue
    scale(rewards[:, :1], ended[:, :1], mask[:, :1], so_far)
    returns += [2 + 1, 0.9375 + 3]
    th.testing.assert_close(scale.moments.running_mean_var()[1].sqrt(), th.tensor(np.std(returns), dtype=th.float32))
