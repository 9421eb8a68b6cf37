"""Passes over a batch in parts."""

import numpy as np
import pytest
import torch as th
from hypothesis import given
from hypothesis import strategies as st

from components.sampling.minibatches import passes, rows, transitions
from helpers import random_batch
from utils.rl_utils import valid_transitions


@given(st.integers(1, 9), st.integers(1, 4), st.integers(1, 12), st.integers(0, 99))
def test_each_pass_has_every_item_once_in_parts_as_equal_as_may_be(items, n_epochs, n_minibatches, seed):
    parts = list(passes(th.arange(items) * 10, n_epochs, n_minibatches, np.random.default_rng(seed)))
    per_pass = min(items, n_minibatches)
    assert len(parts) == n_epochs * per_pass
    for i in range(0, len(parts), per_pass):
        one = parts[i : i + per_pass]
        assert sorted(th.cat(one).tolist()) == [10 * k for k in range(items)]
        sizes = [len(part) for part in one]
        assert max(sizes) - min(sizes) <= 1


def test_the_order_is_drawn_for_each_pass_from_numpys_generator_and_not_from_torchs():
    np.random.seed(3)
    state = th.get_rng_state()
    first, second = passes(th.arange(6), 2, 1)
    assert th.equal(th.get_rng_state(), state)
    np.random.seed(3)
    assert first.tolist() == np.random.permutation(6).tolist()
    assert second.tolist() == np.random.permutation(6).tolist()
    assert first.tolist() != second.tolist()


def test_by_rows_the_parts_are_whole_sequences():
    batch = random_batch([2, 4, 1], 5)
    for part in passes(rows(batch), 1, 3):
        assert batch[part].batch_size == 1
        assert th.equal(batch[part]["obs"][0], batch["obs"][part.item()])


@pytest.mark.parametrize("parts", [1, 2, 7])
def test_by_transitions_padding_and_closing_states_are_in_no_part(parts):
    """Rewards of a padded, a truncated and a terminated episode: 2, 4 and 1 transitions of 2 agents."""
    batch = random_batch([2, 4, 1], 6, ends=["terminated", "truncated", "truncated"])
    reward = batch["reward"][:, :-1].squeeze(2)
    mask = valid_transitions(batch)
    taken = [reward[b, t].item() for b, length in enumerate((2, 4, 1)) for t in range(length)]
    seen = [reward[tuple(part.T[:2])] for part in passes(transitions(mask), 1, parts)]
    assert sorted(th.cat(seen).tolist()) == sorted(taken)
    by_agent = mask.repeat(1, 1, 2)
    by_agent[0, 1, 1] = 0  # absent
    where = [tuple(place) for part in passes(transitions(by_agent), 1, parts) for place in part.tolist()]
    expected = [(b, t, i) for b, length in enumerate((2, 4, 1)) for t in range(length) for i in range(2)]
    assert sorted(where) == [place for place in expected if place != (0, 1, 1)]
