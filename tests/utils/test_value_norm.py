"""Values normalised by their running mean and variance."""

import numpy as np
import pytest
import torch as th

from utils.value_norm import ValueNorm


def test_two_updates_by_hand():
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


def test_its_state_has_pymarl2s_names_and_the_variance_a_floor():
    norm = ValueNorm((2,), beta=0.5)
    norm.update(th.tensor([[1.0, 2.0], [1.0, 2.0]]))
    mean, var = norm.running_mean_var()
    assert mean.tolist() == [1, 2]
    assert var.tolist() == pytest.approx([0.01, 0.01])
    assert sorted(norm.state_dict()) == ["debiasing_term", "running_mean", "running_mean_sq"]
    assert not list(norm.parameters())
