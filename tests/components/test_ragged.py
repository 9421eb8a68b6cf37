"""Ragged arrays in NumPy and in torch, against nested lists: building, indices, copies, and wrong use."""

import copy

import numpy as np
import pytest
import torch as th
from hypothesis import given
from hypothesis import strategies as st

from components.ragged import Ragged, RaggedTensor, cat
from ragged_lists import KINDS, built, nested


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


@KINDS
@given(data=st.data())
def test_each_dimension_takes_numbers_arrays_and_slices(kind, whole, data):
    features, lists = data.draw(nested())
    ragged, lists = built(kind, whole, features, lists)[::-1], lists[::-1]
    number, bound = st.integers(-6, 6), st.none() | st.integers(-6, 6)

    def key_of(size):
        position = st.integers(-size, size - 1) if size else st.nothing()
        cut = st.builds(slice, bound, bound, st.sampled_from([None, 1, 2, -1]))
        return data.draw(cut | st.lists(position).map(lambda x: np.array(x, np.int64)) | position)

    def chosen(values, key):
        if isinstance(key, slice):
            return values[key]
        return [values[i] for i in (key if np.ndim(key) else [key]) if -len(values) <= i < len(values)]

    sequences, columns = key_of(len(lists)), key_of(features)
    items = data.draw(st.lists(number) | number | st.builds(slice, bound, bound, st.sampled_from([None, 2, -1])))
    expected = [[chosen(item, columns) for item in chosen(sequence, items)] for sequence in chosen(lists, sequences)]
    taken = ragged[sequences, items, columns]
    assert taken.tolist() == expected
    assert taken[:, :, ::-1].tolist() == [[item[::-1] for item in sequence] for sequence in expected]
    assert cat([taken, taken], 1).items() == 2 * taken.items()


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


@KINDS
def test_numbers_of_features_are_views_too(kind, whole):
    base = kind.from_flattened([[1, 2, 3], [4, 5, 6], [7, 8, 9]], [2, 1])
    other = kind.from_flattened([[10, 20, 0], [100, 200, 0]], [1, 1])
    view, copied = base[:, :, [2, 0]], base.clone()
    cloned = view.clone()
    view -= other[:, :, [0, 1]]
    assert base.tolist() == [[[-19, 2, -7], [-16, 5, -4]], [[-193, 8, -91]]]
    view[1:] = 0
    base[0, 1, 1] = 50
    assert base.tolist() == [[[-19, 2, -7], [-16, 50, -4]], [[0, 8, 0]]]
    assert copied.tolist() == [[[1, 2, 3], [4, 5, 6]], [[7, 8, 9]]]
    assert cloned.tolist() == [[[3, 1], [6, 4]], [[9, 7]]]
    view.push([[1, 1]])
    assert view.tolist() == [[[-7, -19], [-4, -16]], [[0, 0]], [[1, 1]]]
    view.clear()
    assert (view.size2(), base.items()) == (2, 3)
    with pytest.raises(TypeError, match="gives a copy"):
        base[:, [0, 1], :] = 0


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


def test_numpy_becomes_torch():
    ragged = Ragged.from_flattened(np.ones((3, 2), np.float32), [1, 2])[::-1]
    tensor = RaggedTensor.of(ragged).to("cpu")
    assert tensor.values.dtype == th.float32
    assert tensor.tolist() == ragged.tolist()


@KINDS
def test_wrong_use_is_refused_by_name(kind, whole):
    ragged = kind.from_flattened([[1, 2], [3, 4]], [1, 1])
    for key in (2, -3, [0, 5], [0.5], [[0]], [True], (0, [[1]]), (0, 0.5), (slice(None),) * 4):
        with pytest.raises(IndexError):
            ragged[key]
    with pytest.raises(IndexError):
        ragged.size1(2)
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
