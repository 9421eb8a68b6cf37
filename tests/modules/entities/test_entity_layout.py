"""Rows of entities: every frame in one row, in order, apart from others; and when rows are shared."""

import numpy as np
import pytest
import torch as th
from hypothesis import given, settings
from hypothesis import strategies as st

from modules.entities.layout import Entities, Layout


def _layout(counts, **more):
    entities = Entities.of(np.array(counts, np.int64).reshape(len(counts), -1))
    return entities, Layout(entities, **more)


@settings(max_examples=25, deadline=None)
@given(st.data(), st.integers(1, 3), st.integers(1, 12), st.integers(1, 12), st.booleans())
def test_every_entity_has_one_place_among_those_of_its_frame(data, types, frames, most, pairwise):
    counts = data.draw(st.lists(st.integers(0, most), min_size=types * frames, max_size=types * frames))
    counts = np.array(counts).reshape(types, frames)
    entities, layout = _layout(counts, pairwise=pairwise)
    number = 0
    for kind in range(types):  # the order of inputs: type, frame
        for frame in range(frames):
            for position in range(counts[kind, frame]):
                before = counts[:kind, frame].sum()
                found = entities.frame[number], entities.position[number], entities.number[number]
                assert found == (frame, position, before + position)
                number += 1
    total = len(entities.frame)
    assert total == number
    tokens = layout.enter(th.arange(total, dtype=th.float64).requires_grad_())
    rectangle = layout.rectangle(tokens)
    assert rectangle.shape == layout.shape == layout.placed(th.arange(total)).shape
    assert th.equal(layout.flat(rectangle), tokens)
    found = layout.tokens(entities.frame, entities.number)
    assert tokens[found].tolist() == list(range(total))
    assert layout.frame[found].tolist() == entities.frame.tolist()
    assert layout.sums(th.ones(len(tokens), 1)).flatten().tolist() == counts.sum(0).tolist()
    same = layout.same_frame
    for entity in range(total):
        row, column = divmod(
            int((layout.placed(th.arange(total)).view(-1) == entity).nonzero()[-1 if entity == 0 else 0]),
            max(layout.shape[1], 1),
        )
        if entity:
            assert same[row, column].sum() == counts.sum(0)[entities.frame[entity]]
    if layout.mask is not None:
        assert (layout.mask == 0).any(-1).all()


@pytest.mark.parametrize(
    ("lengths", "pairwise", "shape", "packed"),
    [
        ([4] * 100, False, (25, 16), True),  # short rows are dear: four frames share one
        ([9] * 99, False, (33, 32), True),  # of which 27 places are taken; rows of 16 would have 9
        ([15] * 100, False, (100, 16), False),  # a place more makes whole vectors
        ([4] * 100, True, (100, 4), False),
        ([5], False, (1, 5), False),
        ([20] * 10, False, (10, 20), False),
        ([40, 1, 1, 1, 1, 1, 40, 3], False, (2, 48), True),
        ([40, 39, 38, 37], False, (4, 40), False),
        ([8, 1, 1, 1, 1, 1, 1, 1, 1], True, (2, 8), True),
        ([8] * 9 + [4] * 2, True, (11, 8), False),  # a row less is not worth it
        ([15] * 257 + [8] * 2, False, (260, 16), True),  # two rows more than that, empty: 65 times 64 places
        ([0, 0], False, (2, 0), False),
        ([], False, (0, 0), False),
    ],
)
def test_rows_are_shared_where_that_is_cheaper(lengths, pairwise, shape, packed):
    _, layout = _layout([lengths], pairwise=pairwise)
    assert (layout.shape, layout.packed) == (shape, packed)


def test_frames_that_share_a_row_do_not_see_each_other_though_there_are_more_rows_than_frames():
    _, layout = _layout([[15] * 257 + [8] * 2])
    seen = (layout.mask == 0).squeeze(1)
    assert seen.shape == (260, 16, 16)
    shared = layout.frame.view(260, 16)[257]
    assert sorted(shared.tolist()) == [257] * 8 + [258] * 8
    assert th.equal(seen[257], shared.unsqueeze(1) == shared)


def test_minibatches_of_unequal_frames_have_few_shapes():
    draw = np.random.default_rng(1)
    shapes = {_layout([draw.integers(1, 8, size=1000 + i % 30)])[1].shape for i in range(300)}
    assert len(shapes) < 12
    assert {width for _, width in shapes} == {16}


@pytest.mark.parametrize("counts", [[[1, 3, 0, 2], [2, 1, 0, 30]], [[2, 2], [1, 1]], [[3, 1]], [[3, 3]]])
def test_gradients_of_entities_pass_through_places(counts):
    entities, layout = _layout(counts)
    values, weights = th.randn(2, len(entities.frame), 2, dtype=th.float64).unbind()
    found = layout.tokens(entities.frame, entities.number)

    values.requires_grad_()
    places = layout.rectangle(layout.enter(values))
    (layout.flat(places.sin())[found] * weights).sum().backward()
    assert th.allclose(values.grad, values.detach().cos() * weights)
