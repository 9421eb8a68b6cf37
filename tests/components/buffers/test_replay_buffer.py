"""The circular buffer against a list of the last episodes."""

from collections import deque

import numpy as np
import pytest
import torch as th
from hypothesis import given
from hypothesis import strategies as st

from components.episode_buffer import EpisodeBatch, ReplayBuffer
from components.transforms import OneHot

SCHEME = {"x": {"vshape": (1,), "dtype": th.long}, "task": {"vshape": (1,), "episode_const": True}}
PREPROCESS = {"x": ("x_onehot", [OneHot(400)])}
STEPS = 4


def make_buffer(size):
    return ReplayBuffer(SCHEME, {}, size, STEPS, preprocess=PREPROCESS)


def episodes(numbers, length=STEPS, filled=None):
    """Episodes that carry their number in every field, in their first `filled` steps (default: all)."""
    batch = EpisodeBatch(SCHEME, {}, len(numbers), length, preprocess=PREPROCESS)
    for row, number in enumerate(numbers):
        steps = length if filled is None else filled[row]
        batch.update({"x": np.full((steps, 1), number), "task": [number]}, bs=row, ts=slice(0, steps))
    return batch


def padded(number, steps):
    return [number] * steps + [0] * (STEPS - steps)


@given(st.integers(1, 6), st.lists(st.lists(st.integers(1, STEPS), min_size=1, max_size=9), max_size=8))
def test_it_holds_the_last_episodes_and_nothing_else(size, inserts):
    """Each insert is a list of episode lengths; the batch is as long as its longest."""
    buffer, kept, number = make_buffer(size), deque(maxlen=size), 1
    for lengths in inserts:
        numbers = list(range(number, number + len(lengths)))
        number += len(lengths)
        buffer.insert_episode_batch(episodes(numbers, max(lengths), lengths))
        kept.extend(zip(numbers, lengths, strict=True))
    held = len(kept)
    assert buffer.episodes_in_buffer == held
    # once it is full, the oldest is where the next one will go
    slots = [(buffer.buffer_index + i) % size if held == size else i for i in range(held)]
    assert buffer["x"][slots, :, 0].tolist() == [padded(n, steps) for n, steps in kept]
    assert buffer["filled"][slots, :, 0].tolist() == [padded(1, steps) for _, steps in kept]
    assert buffer["task"][slots, 0].tolist() == [n for n, _ in kept]
    for slot, (n, steps) in zip(slots, kept, strict=True):
        expected = np.zeros((STEPS, 400))
        expected[:steps, n] = 1
        np.testing.assert_array_equal(buffer["x_onehot"][slot].numpy(), expected)
    assert all((buffer[key][held:] == 0).all() for key in ("x", "x_onehot", "filled", "task"))
    for wanted in range(1, size + 2):
        assert buffer.can_sample(wanted) == (wanted <= held)


def test_exactly_all_episodes_come_in_order_and_as_views():
    buffer = make_buffer(5)
    buffer.insert_episode_batch(episodes([3, 1, 2]))
    sample = buffer.sample(3)
    assert sample["x"][:, 0, 0].tolist() == [3, 1, 2]
    assert sample["x"].data_ptr() == buffer["x"].data_ptr()
    with pytest.raises(ValueError, match="Cannot sample 4 episodes from 3"):
        buffer.sample(4)
    with pytest.raises(ValueError, match="5 steps do not fit a buffer of 4"):
        buffer.insert_episode_batch(episodes([1], length=5))
    assert "3/5 episodes" in repr(buffer)


def test_a_sample_is_whole_episodes_and_a_copy():
    buffer, batch = make_buffer(10), episodes([7, 8, 9], filled=[4, 2, 3])
    buffer.insert_episode_batch(batch)
    batch["x"].fill_(50)
    lengths = {7: 4, 8: 2, 9: 3}
    for _ in range(20):
        sample = buffer.sample(2)
        assert len(set(sample["task"][:, 0].tolist())) == 2
        assert (sample.batch_size, sample.max_seq_length) == (2, STEPS)
        for row, number in enumerate(sample["task"][:, 0].tolist()):
            assert sample["x"][row, :, 0].tolist() == padded(number, lengths[number])
            assert sample["filled"][row, :, 0].tolist() == padded(1, lengths[number])
        sample["x"].fill_(50)
    assert buffer["x"][:3, 0, 0].tolist() == [7, 8, 9]


def test_sampling_is_uniform():
    buffer = make_buffer(10)
    buffer.insert_episode_batch(episodes(list(range(8))))
    np.random.seed(1)
    counts = np.zeros(8)
    for _ in range(2000):
        counts[buffer.sample(2)["x"][:, 0, 0].numpy()] += 1
    # 2000 draws of 2 of 8: mean 500, standard deviation below 20
    assert np.abs(counts - 500).max() < 100
