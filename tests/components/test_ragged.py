"""Ragged arrays in NumPy and in torch, against nested lists."""

import copy

import numpy as np
import pytest
import torch as th
from hypothesis import given
from hypothesis import strategies as st

from components.ragged import Ragged, RaggedTensor, cat
from utils.ragged_rows import pack

NUMBERS = st.integers(-9, 9)


@st.composite
def nested(draw, features=None, sequences=None, items=None):
    """Sequences of items of equally many features, as lists; `items`: their numbers."""
    features = draw(st.integers(1, 3)) if features is None else features
    count = draw(st.integers(0, 5)) if sequences is None else sequences
    sizes = [draw(st.integers(0, 4)) for _ in range(count)] if items is None else items
    item = st.lists(NUMBERS, min_size=features, max_size=features)
    return features, [draw(st.lists(item, min_size=size, max_size=size)) for size in sizes]


KINDS = pytest.mark.parametrize(("kind", "whole"), [(Ragged, np.int64), (RaggedTensor, th.int64)])


def built(kind, whole, features, sequences):
    ragged = kind(features, whole)
    for sequence in sequences:
        ragged.push(sequence)
    return ragged


@KINDS
@given(data=st.data())
def test_building_gives_the_lists(kind, whole, data):
    features, lists = data.draw(nested())
    pushed = built(kind, whole, features, lists)
    flat = np.array([item for sequence in lists for item in sequence], np.int64).reshape(-1, features)
    flattened = kind.from_flattened(flat, [len(sequence) for sequence in lists])
    for ragged in (pushed, flattened):
        assert ragged.tolist() == lists
        assert (ragged.size0(), ragged.size2(), ragged.items()) == (len(lists), features, len(flat))
        assert len(ragged) == flat.size
        assert ragged.size1().tolist() == [len(sequence) for sequence in lists]
        assert [ragged.size1(i) for i in range(len(lists))] == ragged.size1().tolist()
        assert ragged.as_array().tolist() == flat.tolist()
    more = data.draw(nested(features))[1]
    pushed.extend(built(kind, whole, features, more))
    pushed.push_empty()
    assert pushed.tolist() == [*lists, *more, []]
    pushed.clear()
    assert pushed.tolist() == []
    pushed.push(flat)
    assert pushed.tolist() == [flat.tolist()]


@KINDS
@given(data=st.data())
def test_indices_and_slices_are_those_of_lists(kind, whole, data):
    features, lists = data.draw(nested())
    ragged = built(kind, whole, features, lists)
    bound = st.none() | st.integers(-6, 6)
    rows, items, columns = (slice(data.draw(bound), data.draw(bound)) for _ in range(3))
    expected = [[item[columns] for item in sequence[items]] for sequence in lists[rows]]
    assert ragged[rows, items, columns].tolist() == expected
    stepped = slice(data.draw(bound), data.draw(bound), data.draw(st.sampled_from([-2, -1, 1, 2])))
    assert ragged[stepped].tolist() == lists[stepped]
    if lists:
        numbers = data.draw(st.lists(st.integers(-len(lists), len(lists) - 1)))
        for key in (numbers, np.array(numbers, np.int64), th.tensor(numbers, dtype=th.int64)):
            assert ragged[key].tolist() == [lists[i] for i in numbers]
        assert all(ragged[i].tolist() == [lists[i]] for i in range(-len(lists), len(lists)))
        chosen = [i % 2 == 0 for i in range(len(lists))]
        assert ragged[chosen].tolist() == lists[::2]
        again = ragged[rows, items, columns][:: data.draw(st.sampled_from([1, -1]))]
        assert cat([again, again]).size0() == 2 * again.size0()
    assert [one.tolist() for one in ragged] == [[sequence] for sequence in lists]


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


@KINDS
@given(data=st.data())
def test_every_item_knows_its_sequence_position_and_row(kind, whole, data):
    features, lists = data.draw(nested())
    ragged = built(kind, whole, features, lists)[::-1]
    lists = lists[::-1]
    assert ragged.indices(0).tolist() == [[[s]] * len(items) for s, items in enumerate(lists)]
    assert ragged.indices(1).tolist() == [[[i] for i in range(len(items))] for items in lists]
    assert ragged.flat_indices().values.ravel().tolist() == list(range(sum(map(len, lists))))
    assert ragged.flat_indices().lengths.tolist() == [len(items) for items in lists]
    assert ragged.indices(0).dtype == ragged.indices(1).dtype == ragged.flat_indices().dtype == whole


@KINDS
def test_slices_are_views_and_other_indices_copies(kind, whole):
    base = kind.from_flattened([[1, 2], [3, 4], [5, 6]], [2, 1])
    view = base[:, 1:, :1]
    view -= 10
    view[:1] = 7
    base[1:, :, 1:] += base[1:, :, :1]
    assert base.tolist() == [[[1, 2], [7, 4]], [[5, 11]]]
    copied = base[0]
    copied += 1
    assert base.tolist() == [[[1, 2], [7, 4]], [[5, 11]]]
    base.push([[0, 0]])
    assert base.size0() == 3
    view += 1
    assert base.tolist()[0] == [[1, 2], [7, 4]]
    assert view.tolist() == [[[8]], []]


def test_what_is_built_is_a_copy():
    for source, kind in ((np.ones((2, 3)), Ragged), (th.ones(2, 3), RaggedTensor)):
        for ragged in (kind.from_flattened(source, [2]), kind.from_array(source[None])):
            pushed = kind(3, ragged.dtype)
            pushed.push(source)
            extended = kind(3, ragged.dtype)
            extended.extend(ragged)
            ragged += 1
            source += 5
            assert pushed.tolist() == extended.tolist() == [[[1] * 3] * 2]
            assert ragged.tolist() == [[[2] * 3] * 2]
            source -= 5


@KINDS
def test_sequences_of_equal_length_come_from_one_array(kind, whole):
    array = np.arange(12).reshape(2, 3, 2)
    assert kind.from_array(array).tolist() == array.tolist()
    assert copy.deepcopy(kind.from_array(array)).tolist() == array.tolist()
    assert kind.from_array(array.astype(np.int16)).values.dtype != whole


@KINDS
def test_wrong_use_is_refused_by_name(kind, whole):
    ragged = kind.from_flattened([[1, 2], [3, 4]], [1, 1])
    for key in (2, -3, [0, 5], [0.5], [[0]], [True], (0, 1), (slice(None),) * 4):
        with pytest.raises(IndexError):
            ragged[key]
    with pytest.raises(IndexError):
        ragged.size1(2)
    with pytest.raises(ValueError, match="steps of 1"):
        ragged[:, ::2]
    for lengths in ([1], [3, -1], [1.0, 1.0], [[2]], 2):
        with pytest.raises(ValueError, match="engths"):
            kind.from_flattened([[1, 2], [3, 4]], lengths)
    for values in ([1, 2], [[[1]]]):
        with pytest.raises(ValueError, match="Expected an array"):
            kind.from_flattened(values, [2])
    with pytest.raises(ValueError, match="Expected an array"):
        kind.from_array([[1]])
    for items in ([[1]], [1, 2], [[1, 2, 3]]):
        with pytest.raises(ValueError, match="Expected a sequence"):
            ragged.push(items)
    with pytest.raises(TypeError, match="float64"):
        ragged.push(np.zeros((1, 2)))
    with pytest.raises(TypeError):
        ragged.extend(kind(2))
    with pytest.raises(ValueError, match="features"):
        ragged.extend(kind(3, whole))
    two, long = kind.from_flattened([[1, 2]] * 4, [2, 2]), kind.from_flattened([[1, 2]] * 4, [1, 3])
    with pytest.raises(ValueError, match="do not fit"):
        two + long
    with pytest.raises(ValueError, match="do not fit"):
        two + kind.from_flattened([[1, 2]] * 2, [2])
    with pytest.raises(ValueError, match="do not fit into"):
        ragged += two
    with pytest.raises(TypeError):
        ragged + 0.5
    with pytest.raises(TypeError):
        ragged + np.ones(1)
    with pytest.raises(TypeError):
        ragged[0] = 1
    with pytest.raises(TypeError, match="Booleans"):
        kind.from_flattened(np.ones((2, 1), bool), [2]) + 1
    with pytest.raises(ValueError, match="not 2"):
        ragged.indices(2)
    for wrong in (
        ([], 0),
        ([ragged], 3),
        ([ragged, kind(2, whole)], 1),
        ([ragged, kind(3, whole)], 0),
        ([two, long], 2),
    ):
        with pytest.raises(ValueError, match=r"fit together|equally many|Join"):
            cat(*wrong)
    with pytest.raises(TypeError):
        cat([ragged, kind(2)], 0)
    assert ragged.tolist() == [[[1, 2]], [[3, 4]]]


@pytest.mark.parametrize(
    ("lengths", "rows", "inverse"),
    [
        ([5, 2, 2, 1, 3], 3, [*range(13)]),
        ([3, 1, 1, 1, 2], 3, [*range(8)]),
        ([4, 1, 1, 4, 2, 2, 0, 3], 5, [*range(6), *range(8, 12), 6, 7, 12, 13, 16, 17, 18]),
        ([0, 1], 1, [0]),
    ],
)
def test_packing_is_that_of_ragged_buffer(lengths, rows, inverse):
    for kind, features in ((Ragged, 1), (RaggedTensor, 3)):
        packing = kind.from_flattened(np.zeros((sum(lengths), features)), lengths).padpack()
        assert packing.index.shape == packing.batch.shape == (rows, max(lengths))
        assert packing.inverse_index.tolist() == inverse
        assert str(packing.batch.dtype).endswith("float32")


def test_the_smallest_packing():
    packing = pack(np.array([0, 1]))
    assert (packing.index.tolist(), packing.batch.tolist()) == ([[0]], [[1]])


@given(st.lists(st.integers(0, 6), max_size=12))
def test_packing_places_every_item_once_and_by_the_rule(lengths):
    packing = pack(np.array(lengths, np.int64))
    if len(set(lengths)) < 2:
        assert packing is None
        return
    width, free, places = max(lengths), [], []
    for length in lengths:  # the rule in words, over lists
        row = free.index(max(free)) if free else None
        if row is None or free[row] < length:
            free.append(width)
            row = len(free) - 1
        places += [row * width + width - free[row] + i for i in range(length)]
        free[row] -= length
    assert packing.inverse_index.tolist() == places
    assert packing.index.shape == (len(free), width)
    assert packing.index.ravel()[places].tolist() == list(range(sum(lengths)))
    assert packing.batch.ravel()[places].tolist() == np.repeat(np.arange(len(lengths)), lengths).tolist()
    assert np.isnan(packing.batch).sum() == packing.batch.size - sum(lengths)


def test_the_tensors_of_one_batch_of_mine_sweeper():
    """Lengths, packing and offsets that entity-gym's text about its internals prints for three environments."""
    mines = Ragged.from_flattened([[0, 2], [0, 1], [2, 2], [0, 0], [1, 0], [2, 1], [1, 0], [0, 1], [2, 2]], [5, 1, 3])
    robots = Ragged.from_flattened([[1, 1], [2, 0], [0, 0], [2, 0]], [1, 1, 2])
    cannons = Ragged.from_flattened([[0]], [0, 1, 0])
    counts = mines.size1() + robots.size1() + cannons.size1()
    assert counts.tolist() == [6, 3, 5]
    rows = Ragged.from_flattened(np.arange(14)[:, None], [5, 1, 3, 1, 1, 2, 0, 1, 0])
    by_environment = cat([rows[:3], rows[3:6], rows[6:]], 1)
    assert by_environment.values.ravel().tolist() == [0, 1, 2, 3, 4, 9, 5, 10, 13, 6, 7, 8, 11, 12]
    packing = by_environment.padpack()
    assert packing.index.tolist() == [[0, 1, 2, 3, 4, 5], [6, 7, 8, 0, 0, 0], [9, 10, 11, 12, 13, 0]]
    nan = np.nan
    np.testing.assert_array_equal(packing.batch, [[0] * 6, [1] * 3 + [nan] * 3, [2] * 5 + [nan]])
    assert packing.inverse_index.tolist() == [0, 1, 2, 3, 4, 5, 6, 7, 8, 12, 13, 14, 15, 16]
    offsets = Ragged.from_array((np.cumsum(counts) - counts).reshape(3, 1, 1))
    assert offsets.tolist() == [[[0]], [[6]], [[9]]]
    moving = Ragged.from_flattened([[5], [1], [3], [4]], [1, 1, 2])
    assert (moving + offsets).values.ravel().tolist() == [5, 7, 12, 13]
    assert (Ragged.from_flattened([[2]], [0, 1, 0]) + offsets).values.ravel().tolist() == [8]


def test_gradients_pass_through():
    values = th.arange(6.0).reshape(3, 2).requires_grad_()
    ragged = RaggedTensor.from_flattened(values, [1, 2])
    cat([ragged[[1, 1]], ragged[:, :1] * 3], 0).values.sum().backward()
    assert values.grad.tolist() == [[3, 3], [5, 5], [2, 2]]


def test_numpy_becomes_torch():
    ragged = Ragged.from_flattened(np.ones((3, 2), np.float32), [1, 2])[::-1]
    tensor = RaggedTensor.of(ragged).to("cpu")
    assert tensor.values.dtype == th.float32
    assert tensor.tolist() == ragged.tolist()
