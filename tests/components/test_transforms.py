"""One-hot encoding."""

import pytest
import torch as th

from components.transforms import OneHot, Transform


def test_one_hot():
    one_hot = OneHot(3).transform(th.tensor([[[0], [2]], [[1], [1]]]))
    assert one_hot.dtype == th.float32
    assert one_hot.tolist() == [[[1, 0, 0], [0, 0, 1]], [[0, 1, 0], [0, 1, 0]]]
    assert OneHot(3).infer_output_info((1,), th.long) == ((3,), th.float32)


def test_actions_that_do_not_exist_have_no_one_hot():
    for action in (3, -1):
        with pytest.raises((RuntimeError, IndexError)):
            OneHot(3).transform(th.tensor([action]))


def test_a_transform_must_define_its_methods():
    with pytest.raises(NotImplementedError, match="Transform"):
        Transform().transform(th.zeros(1))
    with pytest.raises(NotImplementedError, match="Transform"):
        Transform().infer_output_info((1,), th.long)
