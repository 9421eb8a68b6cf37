"""Masks and targets against tables made by hand and sums made by brute force."""

import math

import pytest
import torch as th

from helpers import random_batch
from utils.rl_utils import categorical_entropy, episode_starts, multinomial_entropy, valid_transitions


@pytest.mark.parametrize(
    ("length", "end", "expected"),
    [
        (2, "terminated", [1, 1, 0, 0, 0]),
        (2, "truncated", [1, 1, 0, 0, 0]),  # PyMARL: [1, 1, 1, 0, 0], and trains on padding
        (5, "terminated", [1, 1, 1, 1, 1]),
        (5, "truncated", [1, 1, 1, 1, 1]),
        (1, "truncated", [1, 0, 0, 0, 0]),
    ],
)
@pytest.mark.parametrize("with_field", [True, False])
def test_transitions_that_were_really_taken(length, end, expected, with_field):
    batch = random_batch([length, 5], 6, ends=[end, "terminated"])
    if not with_field:
        del batch.scheme["truncated"], batch.data.transition_data["truncated"]
    assert valid_transitions(batch)[0, :, 0].tolist() == expected
    assert valid_transitions(batch)[1, :, 0].tolist() == [1] * 5


def test_a_terminal_step_counts_even_if_no_closing_state_was_written():
    batch = random_batch([3, 5], 6)
    batch["filled"][0, 3] = 0
    assert valid_transitions(batch)[0, :, 0].tolist() == [1, 1, 1, 0, 0]


@pytest.mark.parametrize("field", ["terminated", "truncated"])
def test_the_row_after_an_end_is_a_closing_state_though_more_rows_follow(field):
    """As in a chunk that crosses episodes: nothing was done in the row in which an episode closes."""
    batch = random_batch([5], 6)
    batch["filled"].fill_(1)
    batch["terminated"].zero_()
    batch[field][0, 2] = 1
    assert valid_transitions(batch)[0, :, 0].tolist() == [1, 1, 1, 0, 1]


@pytest.mark.parametrize(
    ("filled", "terminated", "truncated", "starts"),
    [
        ([1, 1, 1, 1, 1, 1], [], [], []),
        ([1, 1, 1, 1, 1, 1], [0, 3], [], [2, 5]),
        ([1, 1, 1, 1, 1, 1], [0], [2], [2, 4]),
        ([1, 1, 1, 1, 1, 1], [], [3, 4], [5]),  # what closes after the last column is the next rollout's matter
        ([0, 1, 1, 1, 1, 1], [], [], [1]),  # lost in the first step
        ([0, 1, 1, 1, 1, 1], [2], [], [1, 4]),
        ([0, 1, 1, 1, 1, 1], [], [0], [1, 2]),  # and in the second, which another episode began with
        ([1, 1, 1, 0, 0, 0], [1], [], [3]),  # whole episodes: padding
    ],
)
def test_where_episodes_begin_in_a_rollout(filled, terminated, truncated, starts):
    batch = random_batch([5], 6)
    batch["filled"][0, :, 0] = th.tensor(filled)
    for key, columns in (("terminated", terminated), ("truncated", truncated)):
        batch[key].zero_()
        batch[key][0, columns] = 1
    assert episode_starts(batch)[0].nonzero()[:, 0].tolist() == starts


def test_columns_beyond_the_longest_episode_are_padding():
    batch = random_batch([1, 3, 2], 7, ends=["truncated", "truncated", "terminated"])
    del batch.scheme["truncated"], batch.data.transition_data["truncated"]
    expected = [[1, 0, 0, 0, 0, 0], [1, 1, 1, 0, 0, 0], [1, 1, 0, 0, 0, 0]]
    assert valid_transitions(batch).squeeze(2).tolist() == expected


def test_a_mask_is_a_copy():
    batch = random_batch([3], 5)
    valid_transitions(batch).zero_()
    assert batch["filled"].sum() == 4


def test_entropies_by_hand():
    """-sum p ln p: ln 2 of two, 1.5 ln 2 of 1/2, 1/4, 1/4, and 0 where nothing is left to chance."""
    ln2 = math.log(2)
    probs = th.tensor([[0.5, 0.5, 0.0], [0.5, 0.25, 0.25], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]], requires_grad=True)
    entropy = categorical_entropy(probs)
    assert entropy.tolist() == pytest.approx([ln2, 1.5 * ln2, 0, 0], abs=1e-6)
    entropy.sum().backward()
    assert th.isfinite(probs.grad).all()
    assert categorical_entropy(probs[:2] * 7).tolist() == pytest.approx([ln2, 1.5 * ln2], abs=1e-6)
    logits = th.tensor([[0.0, ln2, -1e5], [3.0, 3.0, 3.0]], requires_grad=True)
    expected = [math.log(3) - 2 / 3 * ln2, math.log(3)]
    assert multinomial_entropy(logits).tolist() == pytest.approx(expected, abs=1e-6)
    for entropy_of in (categorical_entropy, multinomial_entropy):
        with pytest.raises(ValueError, match="two actions at least, not 1"):
            entropy_of(th.ones(2, 1))
