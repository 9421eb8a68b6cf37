"""Views of first rows."""

import numpy as np

from dots_simulator.cuts import Cuts


def test_views_have_the_rows_that_are_wanted_now():
    arrays = [np.arange(6).reshape(3, 2), np.arange(3)]
    cuts = Cuts(arrays)
    for count in (2, 0, 3, 3, 1):
        assert [rows.tolist() for rows in cuts.first(count)] == [array[:count].tolist() for array in arrays]
    cuts.first(1)[0][...] = 7
    assert arrays[0].tolist() == [[7, 7], [2, 3], [4, 5]]


def test_they_are_made_once_for_a_number_of_rows():
    cuts = Cuts([np.zeros(3)])
    one = cuts.first(2)
    assert cuts.first(2)[0] is one[0]
