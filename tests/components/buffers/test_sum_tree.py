"""Drawing in proportion to priorities, against cumulative sums."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from components.buffers.sum_tree import SumTree

PRIORITIES = st.floats(0, 1e6, allow_nan=False) | st.just(0.0)


@given(
    st.integers(1, 3000), st.lists(st.tuples(st.integers(0, 2999), PRIORITIES), max_size=60), st.integers(0, 2**32 - 1)
)
def test_the_place_is_where_the_cumulative_sum_passes(size, changes, seed):
    tree, expected = SumTree(size), np.zeros(size)
    for start in range(0, len(changes), 7):
        part = [(place % size, priority) for place, priority in changes[start : start + 7]]
        places, priorities = (np.array(column) for column in zip(*part, strict=True))
        tree.put(places, priorities)
        for place, priority in part:
            expected[place] = priority
    np.testing.assert_array_equal(tree.priorities, expected)
    assert tree.total == pytest.approx(expected.sum())
    if not expected.any():
        return
    shares = np.random.default_rng(seed).random(50)
    shares[:2] = 0.0, np.nextafter(1.0, 0.0)
    found, sums = tree.find(shares), np.cumsum(expected)
    assert (expected[found] > 0).all()
    # the sums of a tree are rounded otherwise
    slack = 1e-9 * sums[-1]
    assert (sums[found] >= shares * sums[-1] - slack).all()
    assert (sums[found] - expected[found] <= shares * sums[-1] + slack).all()


def test_sums_do_not_depend_on_how_priorities_came_about():
    rng, one, other = np.random.default_rng(0), SumTree(2000), SumTree(2000)
    for _ in range(50):
        one.put(rng.integers(2000, size=64), rng.random(64))
    other.put(np.arange(2000), one.priorities)
    shares = rng.random(1000)
    assert one.total == other.total
    np.testing.assert_array_equal(one.find(shares), other.find(shares))
