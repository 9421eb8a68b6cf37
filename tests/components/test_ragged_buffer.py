"""The classes of the package ragged-buffer, used as its README and its users do.

MUSTER_ENN=FOLDERS compares with the package itself, where one of the folders has it.
"""

import os
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragged_lists import nested
from utils.ragged import buffer as ragged_buffer
from utils.ragged.buffer import RaggedBuffer, RaggedBufferBool, RaggedBufferF32, RaggedBufferI64, translate_rotate

CLASSES = {np.float32: RaggedBufferF32, np.int64: RaggedBufferI64, np.bool_: RaggedBufferBool}


def of(lists, features, dtype=np.float32, module=ragged_buffer):
    cls = getattr(module, CLASSES[dtype].__name__)
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
    assert buffer[np.array([3, 1, 3])] == of([[[25, 25, 27]], [], [[25, 25, 27]]], 3)
    one = RaggedBufferI64.from_array(np.array([0, 3, 10], dtype=np.int64).reshape(3, 1, 1))
    many = of([[[0]], [[0], [1], [2]], [[0], [5]]], 1, np.int64)
    assert many + one == one + many == of([[[0]], [[3], [4], [5]], [[10], [15]]], 1, np.int64)
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
            assert type(ragged_buffer.cat([made, made], dim=1)) is type(made[:, :, [0]]) is cls
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


def test_views_by_features_change_the_buffer_until_they_are_cloned():
    entities = of([[[10, 3, 10, 1], [11, 4, 11, 2]], [], [[15, 8, 15, 6]]], 4)
    origin = of([[[0, 0, 1, 0]], [[1, -1, 0, 1]], [[-10, -10, 0, -1]]], 4)
    kept, view = entities.clone(), entities[:, :, [1, 3]]
    assert view.materialize() == of([[[3, 1], [4, 2]], [], [[8, 6]]], 2)
    translate_rotate(entities[:, :, [1, 3]], origin[:, :, [0, 1]], origin[:, :, [2, 3]])
    assert view == of([[[3, 1], [4, 2]], [], [[-16, 18]]], 2)
    assert entities == of([[[10, 3, 10, 1], [11, 4, 11, 2]], [], [[15, -16, 15, 18]]], 4)
    assert kept != entities and kept.materialize() is kept
    with pytest.raises(ValueError, match="one item"):
        translate_rotate(entities[:, :, [1, 3]], entities[:, :, [0, 1]], origin[:, :, [2, 3]])
    with pytest.raises(ValueError, match="4 features"):
        translate_rotate(entities, origin, origin)


def test_packing_is_plain_arrays():
    index, batch, inverse = of([[[0]] * 5, [[0]] * 2, [[0]] * 2], 1).padpack()
    assert index.tolist() == [[0, 1, 2, 3, 4], [5, 6, 7, 8, 0]]
    assert batch[1].tolist()[:4] == [1, 1, 2, 2] and np.isnan(batch[1, 4])
    assert inverse.tolist() == list(range(9))
    assert of([[[0]], [[0]]], 1).padpack() is None


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
        mine, other = operation(ours, our_ones, ragged_buffer), operation(theirs, their_ones, original)
        assert type(mine).__name__ == type(other).__name__
        assert mine.as_array().tolist() == other.as_array().tolist()
        assert mine.size1().tolist() == other.size1().tolist()
        assert (mine.size2(), len(mine), mine.items()) == (other.size2(), len(other), other.items())
    mine, other = ours[:, :, [0]].materialize().padpack(), theirs[:, :, [0]].materialize().padpack()
    assert (mine is None) == (other is None)
    for one, another in zip(mine or (), other or (), strict=True):
        np.testing.assert_array_equal(one, another)
