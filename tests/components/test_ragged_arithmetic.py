"""Ragged arrays that are joined, added and multiplied, against nested lists."""

import pytest
import torch as th
from hypothesis import given
from hypothesis import strategies as st

from components.ragged import RaggedTensor, cat
from ragged_lists import KINDS, NUMBERS, built, nested


@pytest.mark.slow
@KINDS
@given(data=st.data())
def test_cat_along_each_axis_is_that_of_lists(kind, whole, data):
    features, first = data.draw(nested())
    _, other = data.draw(nested(features))
    joined = cat([built(kind, whole, features, first), built(kind, whole, features, other)], 0)
    assert joined.tolist() == first + other

    parts = [data.draw(nested(features, len(first)))[1] for _ in range(2)]
    joined = cat([built(kind, whole, features, lists) for lists in (first, *parts)], 1)
    assert joined.tolist() == [a + b + c for a, b, c in zip(first, *parts, strict=True)]

    sizes = [data.draw(st.sampled_from([0, 1, len(sequence)])) for sequence in first]
    width, wide = data.draw(nested(sequences=len(first), items=sizes))
    joined = cat([built(kind, whole, features, first), built(kind, whole, width, wide)], 2)
    assert joined.tolist() == [_side_by_side(a, b) for a, b in zip(first, wide, strict=True)]


def _side_by_side(a, b):
    length = 0 if not a or not b else max(len(a), len(b))
    return [a[min(i, len(a) - 1)] + b[min(i, len(b) - 1)] for i in range(length)]


@KINDS
@given(data=st.data())
def test_arithmetic_repeats_sequences_of_one_item(kind, whole, data):
    features, lists = data.draw(nested())
    _, ones = data.draw(nested(features, items=[1] * len(lists)))
    _, same = data.draw(nested(features, items=[len(sequence) for sequence in lists]))
    a, b, c = (built(kind, whole, features, each) for each in (lists, ones, same))

    def by_hand(operate, others):
        pairs = zip(lists, others, strict=True)
        return [
            [[operate(x, y) for x, y in zip(item, (other * len(own))[i], strict=True)] for i, item in enumerate(own)]
            for own, other in pairs
        ]

    for operate in (lambda x, y: x + y, lambda x, y: x - y, lambda x, y: x * y):
        assert operate(a, c).tolist() == by_hand_same(lists, same, operate)
        assert operate(a, b).tolist() == by_hand(operate, ones)
        assert operate(b, a).tolist() == by_hand(lambda x, y, operate=operate: operate(y, x), ones)
        number = data.draw(NUMBERS)
        assert operate(a, number).tolist() == [[[operate(x, number) for x in i] for i in s] for s in lists]
        assert operate(number, a).tolist() == [[[operate(number, x) for x in i] for i in s] for s in lists]


def by_hand_same(lists, others, operate):
    return [
        [[operate(x, y) for x, y in zip(i, j, strict=True)] for i, j in zip(s, t, strict=True)]
        for s, t in zip(lists, others, strict=True)
    ]


def test_gradients_pass_through():
    values = th.arange(6.0).reshape(3, 2).requires_grad_()
    ragged = RaggedTensor.from_flattened(values, [1, 2])
    cat([ragged[[1, 1]], ragged[:, :1] * 3], 0).values.sum().backward()
    assert values.grad.tolist() == [[3, 3], [5, 5], [2, 2]]
