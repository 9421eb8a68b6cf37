"""Running means and variances: by hand, and on a GPU, which is not asked how many values a mask leaves."""

import numpy as np
import pytest
import torch as th

from components.normalisers import RunningNorm
from gpu_runs import on_gpu, waits_so_far
from learners.advantages import scaled
from utils.rl_utils import RunningMeanStd
from utils.tensors.masked_rows import mean_where
from utils.value_norm import ValueNorm

MASKS = [[1, 0, 1, 1], [0, 0, 1, 0], [0, 0, 0, 0]]


@pytest.mark.parametrize("batches", [[[1.0, 3.0], [8.0]], [[1.0, 3.0, 8.0]]])
def test_running_moments_by_hand(batches):
    """1, 3, 8: mean 4, variance of the population 26 / 3; the start's weight is next to nothing."""
    ours = RunningMeanStd(epsilon=1e-9, shape=(1,))
    for batch in batches:
        ours.update(np.array(batch)[:, None])
    assert (ours.mean[0], ours.var[0]) == pytest.approx((4, 26 / 3))
    assert ours.count == pytest.approx(3)
    assert ours.mean.dtype == np.float64
    resumed = RunningMeanStd(shape=(1,))
    resumed.load_state_dict(ours.state_dict())
    resumed.update(np.array([[4.0]]))
    assert (resumed.mean[0], resumed.var[0]) == pytest.approx((4, 26 / 4))


def test_the_start_of_running_moments_counts_as_rows_of_mean_0_and_variance_1():
    """One such row and the value 3: mean 1.5, variance 0.5 within, 2.25 between."""
    ours = RunningMeanStd(epsilon=1.0)
    ours.update(np.array([3.0]))
    assert (ours.mean, ours.var, ours.count) == (1.5, 2.75, 2.0)


def test_two_updates_of_a_value_norm_by_hand():
    """beta 0.5: weights .5 and .25 of 4 (mean of 2, 6; squares 20) and 1 (squares 1) are 0.25 and 0.5 at last.

    mean (.25 x 4 + .5 x 1) / .75 = 2; squares (.25 x 20 + .5) / .75 = 22 / 3; variance 22 / 3 - 4 = 10 / 3.
    """
    norm = ValueNorm(1, beta=0.5)
    norm.update(th.tensor([[2.0], [6.0]]))
    assert [x.item() for x in norm.running_mean_var()] == pytest.approx([4, 4])
    norm.update(np.array([1.0, 1.0, 1.0]))
    assert [x.item() for x in norm.running_mean_var()] == pytest.approx([2, 10 / 3])
    values = th.tensor([2.0, 2 + (10 / 3) ** 0.5])
    assert norm.normalize(values).tolist() == pytest.approx([0, 1], abs=1e-6)
    assert norm.denormalize(norm.normalize(values.numpy())).tolist() == pytest.approx(values.tolist())
    norm.reset_parameters()
    assert not any(buffer.any() for buffer in norm.buffers())


def test_each_value_may_count():
    """Three values at once weigh as much as one after another: beta^3 of the past stays."""
    norm = ValueNorm(1, beta=0.5, per_element_update=True)
    norm.update(th.tensor([[3.0], [3.0], [3.0]]))
    assert norm.debiasing_term.item() == pytest.approx(1 - 0.5**3)


def test_the_state_of_a_value_norm_has_pymarl2s_names_and_the_variance_a_floor():
    norm = ValueNorm((2,), beta=0.5)
    norm.update(th.tensor([[1.0, 2.0], [1.0, 2.0]]))
    mean, var = norm.running_mean_var()
    assert mean.tolist() == [1, 2]
    assert var.tolist() == pytest.approx([0.01, 0.01])
    assert sorted(norm.state_dict()) == ["debiasing_term", "running_mean", "running_mean_sq"]
    assert not list(norm.parameters())


def test_means_by_hand():
    rows = th.tensor([[1.0, 2.0], [th.nan, 9.0], [3.0, 6.0]])
    assert mean_where(th.tensor([True, False, True]), rows).tolist() == [2, 4]
    assert mean_where(th.zeros(3, dtype=th.bool), rows).tolist() == [0, 0]


@pytest.mark.slow
def test_a_gpu_finds_the_same_and_is_not_waited_for():
    there, waits = on_gpu(_taken_in, "cuda")
    assert waits == 0
    th.testing.assert_close(there, _taken_in("cpu")[0])


def _taken_in(device):
    generator = th.Generator().manual_seed(3)
    values, masks = th.randn(len(MASKS), 4, generator=generator).to(device), th.tensor(MASKS).to(device)
    norms = [ValueNorm((), beta=0.9), ValueNorm((), beta=0.9, per_element_update=True), RunningNorm(), RunningNorm()]
    norms = [norm.to(device) for norm in norms]
    norms[-1].freeze()
    before = waits_so_far()
    advantages = []
    for row, mask in zip(values, masks, strict=True):
        for norm in norms:
            norm.update(row, mask)
        advantages.append(scaled(row, mask))
    waits = waits_so_far() - before
    return [x.cpu() for x in (*advantages, *(buffer for norm in norms for buffer in norm.buffers()))], waits
