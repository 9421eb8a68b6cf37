"""The classes of the package ragged-buffer, used as its README and its users do, and against nested lists.

MUSTER_ENN=FOLDERS compares with the package itself, where one of the folders has it.
"""

import copy
import operator
import os
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from utils.ragged import buffer as ours_module
from utils.ragged.buffer import RaggedBuffer, RaggedBufferBool, RaggedBufferF32, RaggedBufferI64, cat, translate_rotate
from utils.ragged.rows import pack

CLASSES = {np.float32: RaggedBufferF32, np.int64: RaggedBufferI64, np.bool_: RaggedBufferBool}
NUMBERS = st.integers(-9, 9)


@st.composite
def nested(draw, features=None, sequences=None, items=None):
    """Sequences of items of equally many features, as lists; `items`: their numbers."""
    features = draw(st.integers(1, 3)) if features is None else features
    count = draw(st.integers(0, 5)) if sequences is None else sequences
    sizes = [draw(st.integers(0, 4)) for _ in range(count)] if items is None else items
    item = st.lists(NUMBERS, min_size=features, max_size=features)
    return features, [draw(st.lists(item, min_size=size, max_size=size)) for size in sizes]


def of(lists, features=None, dtype=np.int64, module=ours_module):
    cls = getattr(module, CLASSES[dtype].__name__)
    features = len(lists[0][0]) if features is None else features
    flat = np.array([item for one in lists for item in one], dtype).reshape(-1, features)
    return cls.from_flattened(flat, np.array([len(one) for one in lists], np.int64))


def test_the_readme():
    buffer = RaggedBufferF32(3)
    buffer.push(np.array([[1, 2, 3], [4, 5, 6], [7, 8, 9]], dtype=np.float32))
    buffer.push(np.array([], dtype=np.float32))
    buffer.push_empty()
    buffer.push(np.array([[25, 25, 27]], dtype=np.float32))
    assert (buffer.size0(), buffer.size1(0), buffer.size1(2), buffer.size2(), len(buffer)) == (4, 3, 0, 3, 12)
    assert buffer.size1().tolist() == [3, 0, 0, 1]
    assert buffer[0].as_array().tolist() == [[1, 2, 3], [4, 5, 6], [7, 8, 9]]
    assert buffer[np.array([3, 1, 3])] == of([[[25, 25, 27]], [], [[25, 25, 27]]], 3, np.float32)
    one = RaggedBufferI64.from_array(np.array([0, 3, 10], dtype=np.int64).reshape(3, 1, 1))
    many = of([[[0]], [[0], [1], [2]], [[0], [5]]])
    assert many + one == one + many == of([[[0]], [[3], [4], [5]], [[10], [15]]])
    assert (many * 10 + 1).as_array().ravel().tolist() == [1, 1, 11, 21, 1, 51]
    buffer.extend(RaggedBufferF32.from_array(np.zeros((2, 5, 3), np.float32)))
    assert buffer.size0() == 6
    buffer.clear()
    assert buffer == RaggedBufferF32(3) and buffer.is_empty()


def test_each_class_has_its_dtype_and_gives_its_kind():
    for dtype, cls in CLASSES.items():
        values = np.ones((2, 3, 1), dtype)
        for made in (RaggedBuffer.from_array(values), cls.from_flattened(values[0], np.array([1, 2])), cls(1)):
            assert type(made) is cls and made.dtype == dtype
            assert type(made.indices(0)) is type(made.flat_indices()) is RaggedBufferI64
            assert type(cat([made, made], dim=1)) is type(made[:, :, [0]]) is type(copy.deepcopy(made)) is cls
        for other in set(CLASSES) - {dtype}:
            with pytest.raises(TypeError, match=cls.__name__):
                cls.from_array(values.astype(other))
    assert RaggedBuffer[np.int64] is RaggedBufferI64
    with pytest.raises(ValueError, match="float64"):
        RaggedBuffer.from_flattened(np.zeros((1, 1)), np.array([1]))
    with pytest.raises(ValueError, match="RaggedBufferF32"):
        RaggedBuffer(3)
    with pytest.raises(TypeError, match="list"):
        RaggedBufferF32.from_flattened([[1.0]], np.array([1]))
    assert RaggedBufferF32(1) != RaggedBufferI64(1) and RaggedBufferF32(1) != [] and RaggedBufferF32(1) != 0


@given(data=st.data())
def test_building_gives_the_lists(data):
    features, lists = data.draw(nested())
    flattened, pushed = of(lists, features), RaggedBufferI64(features)
    for sequence in lists:
        pushed.push(sequence)
    flat = [item for sequence in lists for item in sequence]
    for ragged in (pushed, flattened):
        assert ragged.tolist() == lists
        assert (ragged.size0(), ragged.size2(), ragged.items()) == (len(lists), features, len(flat))
        assert len(ragged) == len(flat) * features
        assert ragged.size1().tolist() == [ragged.size1(i) for i in range(len(lists))] == list(map(len, lists))
        assert ragged.as_array().tolist() == flat
    more = data.draw(nested(features))[1]
    pushed.extend(of(more, features))
    pushed.push_empty()
    assert pushed.tolist() == [*lists, *more, []]
    assert [one.tolist() for one in flattened] == [[sequence] for sequence in lists]


@given(data=st.data())
def test_each_dimension_takes_numbers_arrays_and_slices(data):
    features, lists = data.draw(nested())
    ragged, lists = of(lists, features)[::-1], lists[::-1]
    number, bound = NUMBERS, st.none() | st.integers(-6, 6)

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
    assert ragged[sequences].tolist() == chosen(lists, sequences)
    even = [i % 2 == 0 for i in range(len(lists))]
    assert ragged[even].tolist() == lists[::2]


@given(data=st.data())
def test_every_item_knows_its_sequence_position_and_row(data):
    features, lists = data.draw(nested())
    ragged, lists = of(lists, features)[::-1], lists[::-1]
    assert ragged.indices(0).tolist() == [[[s]] * len(items) for s, items in enumerate(lists)]
    assert ragged.indices(1).tolist() == [[[i] for i in range(len(items))] for items in lists]
    assert ragged.flat_indices().values.ravel().tolist() == list(range(sum(map(len, lists))))
    assert ragged.flat_indices().lengths.tolist() == [len(items) for items in lists]


def test_slices_are_views_and_other_indices_copies():
    base = of([[[1, 2], [3, 4]], [[5, 6]]])
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


def test_numbers_of_features_are_views_too():
    base = of([[[1, 2, 3], [4, 5, 6]], [[7, 8, 9]]])
    other = of([[[10, 20, 0]], [[100, 200, 0]]])
    view, copied = base[:, :, [2, 0]], base.clone()
    cloned = view.clone()
    view -= other[:, :, [0, 1]]
    assert base.tolist() == [[[-19, 2, -7], [-16, 5, -4]], [[-193, 8, -91]]]
    view[1:] = 0
    base[0, 1, 1] = 50
    assert base.tolist() == [[[-19, 2, -7], [-16, 50, -4]], [[0, 8, 0]]]
    assert copied.tolist() == [[[1, 2, 3], [4, 5, 6]], [[7, 8, 9]]]
    assert cloned.tolist() == [[[3, 1], [6, 4]], [[9, 7]]]
    assert copied.materialize() is copied and view.materialize() == view
    view.push([[1, 1]])
    assert view.tolist() == [[[-7, -19], [-4, -16]], [[0, 0]], [[1, 1]]]
    view.clear()
    assert (view.size2(), base.items()) == (2, 3)
    with pytest.raises(TypeError, match="gives a copy"):
        base[:, [0, 1], :] = 0


def test_what_is_built_is_a_copy():
    source = np.ones((2, 3), np.float32)
    for ragged in (RaggedBufferF32.from_flattened(source, [2]), RaggedBufferF32.from_array(source[None])):
        pushed, extended = RaggedBufferF32(3), RaggedBufferF32(3)
        pushed.push(source)
        extended.extend(ragged)
        ragged += 1
        source += 5
        assert pushed.tolist() == extended.tolist() == [[[1] * 3] * 2]
        assert ragged.tolist() == [[[2] * 3] * 2]
        source -= 5


def test_coordinates_are_moved_and_turned_in_place():
    entities = of([[[10, 3, 10, 1], [11, 4, 11, 2]], [], [[15, 8, 15, 6]]], 4, np.float32)
    origin = of([[[0, 0, 1, 0]], [[1, -1, 0, 1]], [[-10, -10, 0, -1]]], 4, np.float32)
    translate_rotate(entities[:, :, [1, 3]], origin[:, :, [0, 1]], origin[:, :, [2, 3]])
    assert entities == of([[[10, 3, 10, 1], [11, 4, 11, 2]], [], [[15, -16, 15, 18]]], 4, np.float32)
    with pytest.raises(ValueError, match="one item"):
        translate_rotate(entities[:, :, [1, 3]], entities[:, :, [0, 1]], origin[:, :, [2, 3]])
    with pytest.raises(ValueError, match="4 features"):
        translate_rotate(entities, origin, origin)


@given(data=st.data())
def test_cat_along_each_axis_is_that_of_lists(data):
    features, first = data.draw(nested())
    _, other = data.draw(nested(features))
    assert cat([of(first, features), of(other, features)], 0).tolist() == first + other
    parts = [first, *(data.draw(nested(features, len(first)))[1] for _ in range(2))]
    joined = cat([of(lists, features) for lists in parts], 1)
    assert joined.tolist() == [a + b + c for a, b, c in zip(*parts, strict=True)]
    sizes = [data.draw(st.sampled_from([0, 1, len(sequence)])) for sequence in first]
    width, wide = data.draw(nested(sequences=len(first), items=sizes))
    joined = cat([of(first, features), of(wide, width)], 2)
    assert joined.tolist() == [_side_by_side(a, b) for a, b in zip(first, wide, strict=True)]


def _side_by_side(a, b):
    length = 0 if not a or not b else max(len(a), len(b))
    return [a[min(i, len(a) - 1)] + b[min(i, len(b) - 1)] for i in range(length)]


@given(data=st.data())
def test_arithmetic_repeats_sequences_of_one_item(data):
    features, lists = data.draw(nested())
    sizes = [len(sequence) for sequence in lists]
    ones, same = (data.draw(nested(features, items=items))[1] for items in ([1] * len(lists), sizes))
    repeated = [one * size for one, size in zip(ones, sizes, strict=True)]
    a, b, c, number = of(lists, features), of(ones, features), of(same, features), data.draw(NUMBERS)
    numbers = [[[number] * features] * size for size in sizes]

    def by_hand(operate, first, second):
        return [
            [[operate(x, y) for x, y in zip(i, j, strict=True)] for i, j in zip(s, t, strict=True)]
            for s, t in zip(first, second, strict=True)
        ]

    for operate in (operator.add, operator.sub, operator.mul):
        assert operate(a, c).tolist() == by_hand(operate, lists, same)
        assert operate(a, b).tolist() == by_hand(operate, lists, repeated)
        assert operate(b, a).tolist() == by_hand(operate, repeated, lists)
        assert operate(a, number).tolist() == by_hand(operate, lists, numbers)
        assert operate(number, a).tolist() == by_hand(operate, numbers, lists)


def test_wrong_use_is_refused_by_name():
    ragged = of([[[1, 2]], [[3, 4]]])
    for key in (2, -3, [0, 5], [0.5], [[0]], [True], (0, [[1]]), (0, 0.5), (slice(None),) * 4):
        with pytest.raises(IndexError):
            ragged[key]
    with pytest.raises(IndexError):
        ragged.size1(2)
    values = np.array([[1, 2], [3, 4]])
    for lengths in ([1], [3, -1], [1.0, 1.0], [[2]], 2):
        with pytest.raises(ValueError, match="engths"):
            RaggedBufferI64.from_flattened(values, lengths)
    for wrong in (values[0], values[None]):
        with pytest.raises(ValueError, match="Expected an array"):
            RaggedBufferI64.from_flattened(wrong, [2])
    with pytest.raises(ValueError, match="Expected an array"):
        RaggedBufferI64.from_array(values)
    for items in ([[1]], [1, 2], [[1, 2, 3]]):
        with pytest.raises(ValueError, match="Expected a sequence"):
            ragged.push(items)
    with pytest.raises(ValueError, match="features"):
        ragged.extend(RaggedBufferI64(3))
    two, long = of([[[1, 2]] * 2] * 2), of([[[1, 2]], [[1, 2]] * 3])
    for other in (long, of([[[1, 2]] * 2])):
        with pytest.raises(ValueError, match="do not fit"):
            two + other
    with pytest.raises(ValueError, match="do not fit into"):
        ragged += two
    for wrong in (
        lambda: ragged.push(np.zeros((1, 2))),
        lambda: ragged.extend(RaggedBufferF32(2)),
        lambda: ragged + 0.5,
        lambda: ragged + np.ones(1),
        lambda: operator.setitem(ragged, 0, 1),
        lambda: of([[[True]] * 2], dtype=np.bool_) + 1,
        lambda: cat([ragged, RaggedBufferF32(2)], 0),
    ):
        with pytest.raises(TypeError):
            wrong()
    with pytest.raises(ValueError, match="not 2"):
        ragged.indices(2)
    for buffers, dim in (
        ([], 0),
        ([ragged], 3),
        ([ragged, RaggedBufferI64(2)], 1),
        ([ragged, RaggedBufferI64(3)], 0),
        ([two, long], 2),
    ):
        with pytest.raises(ValueError, match=r"fit together|equally many|Join"):
            cat(buffers, dim)
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
    for features in (1, 3):
        packing = RaggedBufferF32.from_flattened(np.zeros((sum(lengths), features), np.float32), lengths).padpack()
        index, batch, inverse_index = packing
        assert index.shape == batch.shape == (rows, max(lengths))
        assert inverse_index.tolist() == inverse
        assert batch.dtype == np.float32


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
    counts = np.sum([[5, 1, 3], [1, 1, 2], [0, 1, 0]], 0)
    rows = RaggedBufferI64.from_flattened(np.arange(14)[:, None], [5, 1, 3, 1, 1, 2, 0, 1, 0])
    by_environment = cat([rows[:3], rows[3:6], rows[6:]], 1)
    assert by_environment.size1().tolist() == counts.tolist() == [6, 3, 5]
    assert by_environment.values.ravel().tolist() == [0, 1, 2, 3, 4, 9, 5, 10, 13, 6, 7, 8, 11, 12]
    packing, nan = by_environment.padpack(), np.nan
    assert packing.index.tolist() == [[0, 1, 2, 3, 4, 5], [6, 7, 8, 0, 0, 0], [9, 10, 11, 12, 13, 0]]
    np.testing.assert_array_equal(packing.batch, [[0] * 6, [1] * 3 + [nan] * 3, [2] * 5 + [nan]])
    assert packing.inverse_index.tolist() == [0, 1, 2, 3, 4, 5, 6, 7, 8, 12, 13, 14, 15, 16]
    offsets = RaggedBufferI64.from_array((np.cumsum(counts) - counts).reshape(3, 1, 1))
    assert offsets.tolist() == [[[0]], [[6]], [[9]]]
    assert (of([[[5]], [[1]], [[3], [4]]]) + offsets).values.ravel().tolist() == [5, 7, 12, 13]
    assert (of([[], [[2]], []], 1) + offsets).values.ravel().tolist() == [8]


@pytest.fixture(scope="module")
def original():
    """The package itself."""
    folders = os.environ.get("MUSTER_ENN", "").split(os.pathsep)
    sys.path[:0] = folders
    try:
        return pytest.importorskip("ragged_buffer", reason="set MUSTER_ENN to folders with ragged-buffer")
    finally:
        del sys.path[: len(folders)]


@given(data=st.data())
def test_operations_are_those_of_the_package(original, data):
    features, lists = data.draw(nested())
    dtype = data.draw(st.sampled_from([np.float32, np.int64]))
    _, ones = data.draw(nested(features, len(lists), [1] * len(lists)))
    pairs = [(of(x, features, dtype), of(x, features, dtype, original)) for x in (lists, ones)]
    (ours, theirs), (our_ones, their_ones) = pairs
    column = data.draw(st.lists(st.integers(0, features - 1), min_size=1, max_size=3))
    rows = np.array(data.draw(st.lists(st.integers(0, max(len(lists) - 1, 0)))) if lists else [], np.int64)
    start, length = data.draw(st.integers(0, 3)), data.draw(st.integers(0, 3))
    for operation in (
        lambda b, one, module: b + one,
        lambda b, one, module: b * 3,
        lambda b, one, module: b[rows],
        lambda b, one, module: b[:, start : start + length, column].materialize(),
        lambda b, one, module: b.indices(1),
        lambda b, one, module: b.flat_indices() + 4,
        lambda b, one, module: module.cat([b, b[rows], one], dim=0),
        lambda b, one, module: module.cat([b, one], dim=1),
        lambda b, one, module: module.cat([b, one], dim=2),
    ):
        mine, other = operation(ours, our_ones, ours_module), operation(theirs, their_ones, original)
        assert type(mine).__name__ == type(other).__name__
        assert mine.as_array().tolist() == other.as_array().tolist()
        assert mine.size1().tolist() == other.size1().tolist()
        assert (mine.size2(), len(mine), mine.items()) == (other.size2(), len(other), other.items())
    mine, other = ours[:, :, [0]].materialize().padpack(), theirs[:, :, [0]].materialize().padpack()
    assert (mine is None) == (other is None)
    for one, another in zip(mine or (), other or (), strict=True):
        np.testing.assert_array_equal(one, another)
