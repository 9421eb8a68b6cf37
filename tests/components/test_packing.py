"""The filled steps of a batch, and back."""

import torch as th
from hypothesis import given
from hypothesis import strategies as st

from components.packing import PackedSteps


def _filled(lengths, steps):
    return th.tensor([[[int(t < length)] for t in range(steps)] for length in lengths])


def test_steps_stand_time_first_and_longer_episodes_first():
    steps = PackedSteps.of(_filled([1, 3, 2], 4))
    assert steps.sizes == [3, 2, 1]
    # row of episode b and step t: 4 b + t
    assert steps.places.tolist() == [4, 8, 0, 5, 9, 6]


@given(st.lists(st.integers(0, 5), min_size=1, max_size=6))
def test_packed_values_return_to_their_places(lengths):
    filled = _filled(lengths, 5)
    steps = PackedSteps.of(filled)
    if not any(lengths):
        assert steps is None
        return
    x = th.randn(len(lengths), 5, 2, 3)
    taken = steps.take(x)
    assert taken.shape == (sum(lengths), 2, 3)
    assert sorted(taken[: steps.sizes[0], 0, 0].tolist()) == sorted(
        x[b, 0, 0, 0].item() for b, length in enumerate(lengths) if length
    )
    assert th.equal(steps.spread(taken), x * (filled > 0).unsqueeze(-1))


def test_an_episode_with_a_gap_is_not_packed():
    filled = _filled([3, 3], 4)
    filled[1, 1] = 0
    assert PackedSteps.of(filled) is None


@given(st.integers(1, 4), st.integers(1, 6), st.data())
def test_a_rollout_is_its_episodes_and_parts_of_episodes(batch_size, length, data):
    starts = th.zeros(batch_size, length, dtype=th.bool)
    for row in range(batch_size):
        for t in data.draw(st.sets(st.integers(1, length))):
            if t < length:
                starts[row, t] = True
    steps = PackedSteps.of_rollout(th.ones(batch_size, length, 1), starts)
    sequences, continued = [], []
    for row in range(batch_size):
        for t in range(length):
            if t == 0 or starts[row, t]:
                sequences.append([])
                continued.append(row if t == 0 else -1)
            sequences[-1].append(row * length + t)
    packed = [[] for _ in range(steps.sizes[0])]
    for step, places in enumerate(steps.places.split(steps.sizes)):
        for sequence, place in enumerate(places.tolist()):
            assert len(packed[sequence]) == step
            packed[sequence].append(place)
    assert sorted(zip(packed, steps.continued.tolist(), strict=True)) == sorted(zip(sequences, continued, strict=True))
    x = th.randn(batch_size, length, 2)
    assert th.equal(steps.spread(steps.take(x)), x)


def test_a_rollout_with_a_missing_step_is_not_packed():
    filled = th.ones(2, 3, 1)
    filled[1, 2] = 0
    assert PackedSteps.of_rollout(filled, th.zeros(2, 3, dtype=th.bool)) is None
