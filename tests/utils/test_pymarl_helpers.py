"""The small helpers of PyMARL and PyMARL2."""

import pytest
import torch as th
import torch.nn as nn

from utils.dict2namedtuple import convert
from utils.th_utils import clip_by_tensor, get_parameters_num, orthogonal_init_


def test_keys_become_fields_in_their_order():
    settings = convert({"b": 1, "a": [2]})
    assert (settings.b, settings.a) == (1, [2])
    assert tuple(settings) == (1, [2])
    assert convert({}) == ()
    with pytest.raises(ValueError, match="valid identifiers"):
        convert({"a b": 1})


def test_parameters_are_counted_in_thousands():
    assert get_parameters_num(nn.Linear(10, 123).parameters()) == "1.353K"


def test_a_linear_layer_becomes_orthogonal_and_others_stay():
    layer, norm = nn.Linear(3, 3), nn.LayerNorm(3)
    orthogonal_init_(layer, gain=2)
    th.testing.assert_close(layer.weight @ layer.weight.t(), 4 * th.eye(3))
    assert not layer.bias.any()
    orthogonal_init_(norm)
    assert norm.weight.tolist() == [1, 1, 1]


def test_bounds_may_differ_by_element():
    bounds = th.tensor([0, 0, 0, 5]), th.tensor([1, 1, 1, 2])
    assert clip_by_tensor(th.tensor([-1.0, 0.5, 3.0, 3.0]), *bounds).tolist() == [0, 0.5, 1, 2]
