"""Episodes side by side, each at its own step, come out of the ring as they went in."""

import numpy as np
import pytest
import torch as th

from components.episode_buffer import EpisodeBatch
from components.recent_steps import RecentSteps
from components.step_writer import StepWriter

B, T = 3, 4


def batch():
    return EpisodeBatch({"state": {"vshape": (2,)}}, {}, B, T)


def played(written):
    """A ring into which so many steps were written: the state of copy b in the k-th is (k, b)."""
    recent = RecentSteps(batch())
    store = StepWriter(recent.batch)
    for k in range(written):
        store.write({"state": np.array([[k, b] for b in range(B)])}, np.arange(B), recent.slot)
        recent.advance()
    return recent


@pytest.mark.parametrize("written", range(1, 3 * T))
def test_an_episode_is_the_last_steps_of_its_copy_wherever_the_ring_begins(written):
    recent = played(written)
    for steps in range(1, min(written, T) + 1):
        target = batch()
        recent.copy_to(target, 1, 2, steps, recent.slot)
        expected = th.zeros(T, 2)
        expected[:steps] = th.tensor([[k, 2] for k in range(written - steps, written)])
        assert th.equal(target["state"][1], expected)
        assert target["filled"].flatten(1).sum(dim=1).tolist() == [0, steps, 0]


def test_a_ring_continues_from_the_episodes_that_were_copied_out_of_it():
    recent, steps, kept = played(6), np.array([0, 3, 4]), batch()
    for copy, count in enumerate(steps.tolist()):
        recent.copy_to(kept, copy, copy, count, recent.slot)
    resumed = RecentSteps(batch())
    resumed.copy_from(kept, steps)
    again = batch()
    for copy, count in enumerate(steps.tolist()):
        resumed.copy_to(again, copy, copy, count, resumed.slot)
    assert th.equal(again["state"], kept["state"])
    assert again["state"][1, 2].tolist() == [5, 1]


def test_slots_lie_side_by_side_in_memory():
    assert all(x[:, 0].is_contiguous() for x in RecentSteps(batch()).batch.data.transition_data.values())
