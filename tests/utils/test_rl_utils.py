"""Masks and targets against tables made by hand and sums made by brute force."""

import numpy as np
import pytest
import torch as th
from hypothesis import given
from hypothesis import strategies as st

from helpers import random_batch
from utils.rl_utils import build_td_lambda_targets, td_lambda_returns, valid_transitions


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


def test_columns_beyond_the_longest_episode_are_padding():
    batch = random_batch([1, 3, 2], 7, ends=["truncated", "truncated", "terminated"])
    del batch.scheme["truncated"], batch.data.transition_data["truncated"]
    expected = [[1, 0, 0, 0, 0, 0], [1, 1, 1, 0, 0, 0], [1, 1, 0, 0, 0, 0]]
    assert valid_transitions(batch).squeeze(2).tolist() == expected


def test_a_mask_is_a_copy():
    batch = random_batch([3], 5)
    valid_transitions(batch).zero_()
    assert batch["filled"].sum() == 4


def test_td_lambda_by_hand():
    """gamma 0.5, lambda 0.5, V = 8, 4, 2 after the steps; rewards 1, 2, 3.

    Terminated:  G2 = 3;                G1 = 2 + .5 (.5 x 4 + .5 x 3) = 3.75;  G0 = 1 + .5 (.5 x 8 + .5 x 3.75) = 3.9375
    Truncated:   G2 = 3 + .5 x 2 = 4;   G1 = 2 + .5 (.5 x 4 + .5 x 4) = 4;     G0 = 1 + .5 (.5 x 8 + .5 x 4) = 4
    """
    rewards = th.tensor([1.0, 2.0, 3.0, 9.0]).view(1, 4, 1).repeat(2, 1, 1)
    next_values = th.tensor([8.0, 4.0, 2.0, 77.0]).view(1, 4, 1).repeat(2, 1, 1)
    mask = th.tensor([1.0, 1.0, 1.0, 0.0]).view(1, 4, 1).repeat(2, 1, 1)
    terminated = th.zeros(2, 4, 1)
    terminated[0, 2] = 1
    returns = td_lambda_returns(rewards, terminated, mask, next_values, 0.5, 0.5)
    assert returns[0, :, 0].tolist() == [3.9375, 3.75, 3.0, 0.0]
    assert returns[1, :, 0].tolist() == [4.0, 4.0, 4.0, 0.0]


def _brute_force(rewards, values, length, terminated, gamma, lam, t):
    """(1 - lambda) sum of lambda^(n-1) G^(n), the rest of the weight on the longest return there is."""
    total, weight_left = 0.0, 1.0
    for n in range(1, length - t + 1):
        g = sum(gamma**k * rewards[t + k] for k in range(n))
        reaches_end = t + n == length
        if not (reaches_end and terminated):
            g += gamma**n * values[t + n - 1]
        weight = weight_left if reaches_end else (1 - lam) * lam ** (n - 1)
        total += weight * g
        weight_left -= weight
    return total


@given(
    st.integers(1, 6),
    st.integers(0, 3),
    st.booleans(),
    st.sampled_from([0.0, 0.5, 0.8, 1.0]),
    st.sampled_from([0.9, 0.99, 1.0]),
    st.integers(0, 999),
)
def test_td_lambda_is_the_weighted_sum_of_n_step_returns(length, padding, terminated, lam, gamma, seed):
    rng = np.random.default_rng(seed)
    steps, agents = length + padding, 2
    rewards, values = rng.normal(size=steps), rng.normal(size=(steps, agents)) * 10
    mask, ends = np.zeros(steps), np.zeros(steps)
    mask[:length] = 1
    ends[length - 1] = terminated
    column = lambda x: th.tensor(x).view(1, steps, 1)  # noqa: E731
    played = column(rewards), column(ends), column(mask)
    returns = td_lambda_returns(*played, th.tensor(values)[None], gamma, lam)
    # PyMARL's call takes the value of the first state as well, and does not use it
    of_all_states = th.tensor(np.vstack([rng.normal(size=(1, agents)), values]))[None]
    assert th.equal(build_td_lambda_targets(*played, of_all_states, agents, gamma, lam), returns)
    for agent in range(agents):
        for t in range(length):
            expected = _brute_force(rewards, values[:, agent], length, terminated, gamma, lam, t)
            assert returns[0, t, agent].item() == pytest.approx(expected, abs=1e-9)
    assert (returns[0, length:] == 0).all()
