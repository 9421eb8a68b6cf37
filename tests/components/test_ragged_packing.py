"""Sequences of a ragged array packed into rows: by the rule in words, and as entity-gym's text prints them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from components.ragged import Ragged, RaggedTensor, cat
from utils.ragged.rows import pack


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
