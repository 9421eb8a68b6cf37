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
PREPROCESS = {"x": ("x_onehot", [OneHot(100)])}
STEPS = 4


def make_buffer(size):
    return ReplayBuffer(SCHEME, {}, size, STEPS, preprocess=PREPROCESS)


def episodes(numbers, length=STEPS):
    """Episodes that carry their number in every filled field."""
    batch = EpisodeBatch(SCHEME, {}, len(numbers), length, preprocess=PREPROCESS)
    values = np.array(numbers).reshape(-1, 1, 1)
    batch.update({"x": np.tile(values, (1, length, 1)), "task": values})
    return batch


@given(st.integers(1, 6), st.lists(st.integers(1, 9), max_size=8))
def test_it_holds_the_last_episodes(size, inserts):
    buffer, slots, number = make_buffer(size), deque(maxlen=size), 0
    for count in inserts:
        numbers = list(range(number, number + count))
        number += count
        buffer.insert_episode_batch(episodes(numbers))
        slots.extend(numbers)
    held = buffer.episodes_in_buffer
    assert held == len(slots)
    assert sorted(buffer["x"][:held, 0, 0].tolist()) == sorted(slots)
    assert th.equal(buffer["task"][:held, 0].long(), buffer["x"][:held, 0, 0])
    assert th.equal(buffer["x_onehot"][:held].argmax(-1), buffer["x"][:held, :, 0])
    assert (buffer["filled"][:held] == 1).all()
    assert (buffer["filled"][held:] == 0).all()
    for wanted in range(1, size + 2):
        assert buffer.can_sample(wanted) == (wanted <= held)


def test_it_wraps():
    buffer = make_buffer(4)
    buffer.insert_episode_batch(episodes([1, 2, 3]))
    buffer.insert_episode_batch(episodes([4, 5, 6]))
    assert buffer["x"][:, 0, 0].tolist() == [5, 6, 3, 4]
    assert buffer.buffer_index == 2


def test_a_shorter_episode_leaves_nothing_of_the_one_it_overwrites():
    buffer = make_buffer(1)
    buffer.insert_episode_batch(episodes([9]))
    buffer.insert_episode_batch(episodes([5], length=2))
    assert buffer["x"].flatten().tolist() == [5, 5, 0, 0]
    assert buffer["filled"].flatten().tolist() == [1, 1, 0, 0]
    assert buffer["x_onehot"].sum() == 2


def test_inserting_copies():
    buffer, batch = make_buffer(2), episodes([1])
    buffer.insert_episode_batch(batch)
    batch["x"].fill_(50)
    assert buffer["x"][0, 0, 0] == 1


def test_episodes_that_are_too_long_are_refused():
    with pytest.raises(ValueError, match="5 steps do not fit a buffer of 4"):
        make_buffer(2).insert_episode_batch(episodes([1], length=5))


def test_exactly_all_episodes_come_in_order_and_as_views():
    buffer = make_buffer(5)
    buffer.insert_episode_batch(episodes([3, 1, 2]))
    sample = buffer.sample(3)
    assert sample["x"][:, 0, 0].tolist() == [3, 1, 2]
    assert sample["x"].data_ptr() == buffer["x"].data_ptr()


def test_a_sample_has_no_episode_twice():
    buffer = make_buffer(10)
    buffer.insert_episode_batch(episodes(list(range(10))))
    for _ in range(50):
        assert len(set(buffer.sample(9)["x"][:, 0, 0].tolist())) == 9


def test_sampling_is_uniform():
    buffer = make_buffer(10)
    buffer.insert_episode_batch(episodes(list(range(8))))
    np.random.seed(1)
    counts = np.zeros(8)
    for _ in range(2000):
        counts[buffer.sample(2)["x"][:, 0, 0].numpy()] += 1
    # 2000 draws of 2 of 8: mean 500, standard deviation below 20
    assert np.abs(counts - 500).max() < 100


def test_samples_that_the_buffer_does_not_have():
    buffer = make_buffer(4)
    buffer.insert_episode_batch(episodes([1, 2]))
    with pytest.raises(ValueError, match="Cannot sample 3 episodes from 2"):
        buffer.sample(3)
    assert "2/4 episodes" in repr(buffer)
