"""What is drawn from the buffer of transitions: uniformly or by priority, and never what is held out."""

import numpy as np
import pytest
import torch as th

from numbered_play import NumberedPlay
from transition_buffers import ROWS, learned_frames, new_buffer, numbers_of


def test_episodes_are_held_out_as_a_whole():
    np.random.seed(0)
    play, buffer = NumberedPlay(ROWS, np.random.default_rng(1)), new_buffer(20000, hold_out=0.3, batch_size=64)
    for _ in range(600):
        buffer.insert(play.rollout(2))
    held = numbers_of(buffer.ring, buffer.held_out[np.arange(len(buffer.held_out))])
    learned = learned_frames(buffer)
    assert set(held) | set(learned) == set(play.steps)
    of_held, of_learned = ({play.episode[frame] for frame in frames} for frames in (held, learned))
    assert not of_held & of_learned
    assert len(of_held) / len(of_held | of_learned) == pytest.approx(0.3, abs=0.05)
    for _ in range(10):
        assert {int(x) for x in buffer.sample()["obs"][:, 0, 0, 0]} <= set(learned)
        assert {int(x) for x in buffer.hold_out()["obs"][:, 0, 0, 0]} <= set(held)
    assert new_buffer().hold_out() is None


def test_stretches_that_are_held_out_are_redrawn():
    """Each step redraws with probability 0.1: stretches of one kind last 10 / (1 - share) or 10 / share steps."""
    np.random.seed(1)
    play = NumberedPlay(ROWS, np.random.default_rng(1))
    buffer = new_buffer(20000, hold_out=0.3, hold_out_redraw=0.1, batch_size=64)
    kinds, begins = [], []
    held_out = buffer._held_out

    def listen(starts, source):
        kinds.append(held_out(starts, source))
        begins.append(starts)
        return kinds[-1]

    buffer._held_out = listen
    for _ in range(400):
        buffer.insert(play.rollout(8))
    kinds, begins = np.array(kinds), np.array(begins)
    within = ~begins[..., 1:]
    share = ((kinds[..., 1:] != kinds[..., :-1]) & within).sum() / within.sum()
    assert abs(kinds.mean() - 0.3) < 0.05
    assert abs(share - 0.1 * 2 * 0.3 * 0.7) < 0.01  # it redraws, and draws the other kind


def test_uniform_samples_are_uniform():
    play, buffer = NumberedPlay(ROWS, np.random.default_rng(1)), new_buffer(40)
    for _ in range(20):
        buffer.insert(play.rollout(2))
    np.random.seed(0)
    counts = np.unique(np.concatenate([buffer.draw().numbers for _ in range(5000)]), return_counts=True)[1]
    assert len(counts) == len(buffer.learned)
    assert counts.min() > 0.8 * 20000 / len(counts)


class TestPriorities:
    def filled(self, **changes):
        play, buffer = NumberedPlay(ROWS, np.random.default_rng(1)), new_buffer(40, **changes)
        for _ in range(20):
            buffer.insert(play.rollout(2))
        return play, buffer

    @pytest.mark.slow
    def test_transitions_are_drawn_in_proportion(self):
        _, buffer = self.filled(priority_alpha=0.5, priority_beta=0.7, batch_size=8)
        steps = buffer.learned[np.arange(len(buffer.learned))]
        priorities = np.linspace(0, 3, len(steps)) ** 2
        buffer.update_priorities(th.from_numpy(steps), th.from_numpy(priorities))
        chances = (priorities + 1e-6) ** 0.5
        chances /= chances.sum()
        counts = np.zeros(len(steps))
        np.random.seed(0)
        for _ in range(2500):
            sample = buffer.sample()
            places = np.searchsorted(steps, sample["ids"].numpy())
            counts += np.bincount(places, minlength=len(steps))
            weights = (len(steps) * chances[places]) ** -0.7
            np.testing.assert_allclose(sample["weights"], weights / weights.max(), rtol=1e-5)
            assert sample["obs"][:, 0, 0, 0].tolist() == numbers_of(buffer.ring, steps[places])
        np.testing.assert_allclose(counts / counts.sum(), chances, atol=2e-3)

    def test_the_smallest_priority_is_an_option(self):
        """Linesight's: (1.25 + 0.002) to the power 0.6, and 0.002 to it."""
        _, buffer = self.filled(priority_alpha=0.6, priority_epsilon=0.002, batch_size=8)
        steps = buffer.learned[np.arange(2)]
        buffer.update_priorities(th.from_numpy(steps), th.tensor([1.25, 0.0]))
        assert buffer._tree.priorities[steps % 40] == pytest.approx([1.252**0.6, 0.002**0.6])

    def test_a_new_transition_has_the_largest_priority(self):
        """Of all that were ever given, also in a buffer that resumes."""
        play, buffer = self.filled(priority_alpha=1.0, batch_size=8)
        oldest = th.from_numpy(buffer.learned[np.arange(1)])
        for priority in (7.0, 0.5):
            buffer.update_priorities(oldest, th.tensor([priority]))
        resumed = new_buffer(40, priority_alpha=1.0, batch_size=8)
        resumed.load_state_dict(buffer.state_dict())
        rollout, before = play.rollout(2), buffer.ring.stop
        for one in (buffer, resumed):
            one.insert(rollout)
            new = one.learned[np.arange(len(one.learned))]
            new = new[new >= before]
            assert len(new)
            assert (one._tree.priorities[new % 40] == 7 + 1e-6).all()

    def test_overwritten_transitions_are_ignored(self):
        play, buffer = self.filled(priority_alpha=1.0, batch_size=8)
        stale = buffer.learned[np.arange(len(buffer.learned))]
        for _ in range(20):
            buffer.insert(play.rollout(2))
        before = buffer._tree.priorities.copy()
        buffer.update_priorities(th.from_numpy(stale), th.full((len(stale),), 100.0))
        assert (buffer._tree.priorities == before).all()

    def test_steps_that_are_no_transitions_have_none(self):
        _, buffer = self.filled(priority_alpha=0.5, batch_size=8, hold_out=0.3)
        has = set((buffer.learned[np.arange(len(buffer.learned))] % 40).tolist())
        assert set(np.flatnonzero(buffer._tree.priorities).tolist()) == has

    def test_uniform_buffers_take_priorities_and_ignore_them(self):
        _, buffer = self.filled(batch_size=8)
        buffer.update_priorities(th.tensor([1, 2]), th.tensor([1.0, 2.0]))
        assert "ids" not in buffer.sample().scheme
