"""EPyMARL's running mean and variance of tensors."""

import pytest
import torch as th

from components.standarize_stream import RunningMeanStd


def test_rows_of_any_leading_shape_by_hand():
    """Columns 1, 3 and 5, 5: means 2 and 5, unbiased variances 2 and 0."""
    moments = RunningMeanStd(epsilon=1e-9, shape=(2,))
    moments.update(th.tensor([[[1.0, 5.0]], [[3.0, 5.0]]]))
    assert moments.mean.tolist() == pytest.approx([2, 5])
    assert moments.var.tolist() == pytest.approx([2, 0], abs=1e-6)
    assert moments.mean.dtype == th.float32


def test_a_single_row_has_no_variance():
    """EPyMARL's becomes NaN for good. One row of the start and the value 2: mean 1, variance 0.5 + 1."""
    moments = RunningMeanStd(epsilon=1.0, shape=(1,))
    moments.update(th.tensor([[2.0]]))
    assert (moments.mean.item(), moments.var.item(), moments.count) == (1.0, 1.5, 2.0)
