"""Sequences in rows: each in one row and apart from others, and few rows."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from utils.tensors.filled_rows import filled_rows


def _most_in_a_row(starts, lengths, rows, width):
    taken = np.zeros(rows * width, np.int64)
    for start, length in zip(starts, lengths, strict=True):
        assert start // width == (start + max(length, 1) - 1) // width < max(rows, 1)
        taken[start : start + length] += 1
    assert taken.sum() == sum(lengths)
    return taken.max(initial=0)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.integers(0, 20), max_size=60), st.integers(0, 30))
def test_every_sequence_lies_in_one_row_apart_from_others(lengths, more):
    width = max(lengths, default=0) + more
    starts, rows = filled_rows(np.array(lengths, np.int64), width)
    if any(lengths):
        assert _most_in_a_row(starts, lengths, rows, width) == 1
        # of two rows that are at most half full, the later one's sequences would have gone into the earlier
        full = np.bincount(starts // width, weights=lengths, minlength=rows)
        assert (full > 0).all()
        assert (full <= width / 2).sum() <= 1
    else:
        assert rows == 0


@pytest.mark.parametrize(
    ("lengths", "width", "rows"),
    [
        ([5] * 4 + [6] * 2, 16, 2),  # longest first alone would need three: 6 6, 5 5 5, 5
        ([3] * 7 + [7] * 3, 14, 4),
        ([10, 6, 4, 4, 4, 4, 16], 16, 3),
        ([1] * 33, 16, 3),
        ([0, 0, 9, 9], 16, 2),
    ],
)
def test_rows_are_filled_as_well_as_can_be(lengths, width, rows):
    lengths = np.random.default_rng(1).permutation(lengths)
    starts, found = filled_rows(lengths, width)
    assert found == rows
    assert _most_in_a_row(starts, lengths, found, width) == 1


@pytest.mark.parametrize("seed", range(3))
def test_hardly_a_place_is_empty_in_rows_of_many_short_sequences(seed):
    lengths = np.random.default_rng(seed).integers(2, 8, 1000)
    _, rows = filled_rows(lengths, 16)
    assert lengths.sum() / (rows * 16) > 0.98


def test_sequences_that_fill_their_rows_keep_their_order():
    lengths = np.full(100, 4)
    lengths[::2] = 0
    starts, rows = filled_rows(lengths, 4)
    assert (starts[1::2].tolist(), rows) == (list(range(0, 200, 4)), 50)
