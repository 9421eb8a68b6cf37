"""Episodes drawn by priority: chances, weights, numbers and what a resumed buffer knows."""

import numpy as np
import pytest
import torch as th
from test_buffer_contract import LENGTH, new_buffer, rows_of

from helpers import random_batch


def filled(rollouts=4, **changes):
    """The newest five of eight episodes: the numbers 3 to 7, of which 5, 6 and 7 lie in the places 0 to 2."""
    played = [random_batch([2, 3], LENGTH, seed=seed) for seed in range(rollouts)]
    buffer = new_buffer("episodes", priority_alpha=0.5, priority_beta=0.7, **changes)
    for batch in played:
        buffer.insert(batch)
    return buffer, played


def test_episodes_are_drawn_in_proportion():
    buffer, played = filled(batch_size=4)
    priorities = np.array([4.0, 1.0, 0.0, 9.0, 2.0])
    buffer.update_priorities(th.arange(3, 8), th.from_numpy(priorities))
    chances = (priorities + 1e-6) ** 0.5
    chances /= chances.sum()
    counts = np.zeros(5)
    np.random.seed(0)
    for _ in range(400):
        sample = buffer.sample()
        drawn = sample["ids"].numpy() - 3
        counts += np.bincount(drawn, minlength=5)
        weights = (5 * chances[drawn]) ** -0.7
        np.testing.assert_allclose(sample["weights"], weights / weights.max(), rtol=1e-5)
    np.testing.assert_allclose(counts / counts.sum(), chances, atol=0.02)
    for number, row in zip(sample["ids"].tolist(), range(4), strict=True):
        one = played[number // 2][number % 2 : number % 2 + 1]
        assert rows_of(sample[row : row + 1]) == rows_of(one)


def test_a_new_episode_has_the_largest_priority_and_overwritten_ones_are_ignored():
    buffer, played = filled()
    buffer.update_priorities(th.tensor([0, 3]), th.tensor([100.0, 16.0]))
    assert buffer._priorities.tree.priorities[3] == pytest.approx(4)
    resumed = new_buffer("episodes", priority_alpha=0.5, priority_beta=0.7)
    resumed.load_state_dict(buffer.state_dict())
    assert resumed._priorities.tree.priorities.tolist() == buffer._priorities.tree.priorities.tolist()
    for one in (buffer, resumed):
        one.insert(played[0])
        assert one._priorities.tree.priorities.tolist() == pytest.approx([1, 1, 1, 10, 10])


def test_without_priorities_there_are_no_weights():
    buffer = new_buffer("episodes")
    buffer.insert(random_batch([2, 3], LENGTH))
    buffer.update_priorities(th.tensor([0]), th.tensor([1.0]))
    assert not {"ids", "weights"} & set(buffer.sample().scheme)
    with pytest.raises(ValueError, match="other fields"):
        buffer.load_state_dict(filled()[0].state_dict())
