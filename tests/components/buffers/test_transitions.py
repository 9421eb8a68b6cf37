"""The buffer of transitions against a list of everything that was played."""

import numpy as np
import pytest
import torch as th
from hypothesis import given, settings
from hypothesis import strategies as st

from components.buffers.frame_ring import _course
from numbered_play import SCHEME, NumberedPlay
from transition_buffers import (
    ROWS,
    STEPS,
    frames_in,
    learned_frames,
    new_buffer,
    numbers_of,
    plays_of,
    require_transitions,
)
from utils.rl_utils import episode_starts, valid_transitions


@pytest.mark.slow
@settings(deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(18, 60), st.lists(st.integers(1, STEPS), max_size=25), st.booleans())
def test_rollouts_of_any_length_are_one_list_of_transitions(seed, capacity, lengths, lossy):
    """Each frame is held once; what follows a truncated step is the last frame of its episode."""
    play, buffer = NumberedPlay(ROWS, np.random.default_rng(seed), lossy=lossy), new_buffer(capacity)
    added = 0
    for steps in lengths:
        added += buffer.insert(play.rollout(steps))
        require_transitions(buffer, play)
    assert added == len(play.steps)
    assert buffer.ring.stop == len(play.episode) or not lengths


@pytest.mark.parametrize(("room", "stored"), [(0, 6), (-1, 7)])
def test_a_frame_waits_until_the_next_rollout_might_overwrite_it(room, stored):
    """Three frames wait behind 6 steps; then come 9 of another source, and 9, of which the first 3 may be known."""
    plays = [endless_play(ROWS), endless_play(ROWS)]
    buffer = new_buffer(3 + 9 + 9 + room)
    for source in (0, 1):
        buffer.insert(plays[source].rollout(2), source)
    before = buffer.ring.stop
    buffer.insert(plays[0].rollout(2), 0)
    assert buffer.ring.stop - before == stored


@pytest.mark.slow
@settings(deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(18, 70), st.lists(st.tuples(st.integers(0, 2), st.integers(1, STEPS))))
def test_rollouts_of_several_sources_keep_their_rows_apart(seed, capacity, turns):
    """In any order of turns; a frame that waited too long for its actions is overwritten, and waits no more."""
    plays, buffer = plays_of(3, seed), new_buffer(capacity)
    for source, steps in turns:
        buffer.insert(plays[source].rollout(steps), source)
        ring = buffer.ring
        steps_of = {frame: step for play in plays for frame, step in play.steps.items()}
        held = frames_in(ring)
        learned = buffer.learned[np.arange(len(buffer.learned))]
        assert (np.diff(learned) > 0).all()
        frames = numbers_of(ring, learned)
        # a frame is there twice only if its first copy was about to be overwritten
        assert set(frames) == {frame for frame in held if frame in steps_of}
        if frames:
            pairs = ring.batch(np.stack([learned, ring.following(learned)], axis=1))
            assert pairs["obs"][:, 1, 0, 0].tolist() == [steps_of[frame].after for frame in frames]
            assert pairs["reward"][:, 0, 0].tolist() == [frame + 0.5 for frame in frames]
    if turns and capacity > 60:
        assert len(frames_in(buffer.ring)) - len(set(frames_in(buffer.ring))) <= ROWS * len(turns)


def test_frames_of_sources_in_turn_are_stored_once():
    plays, buffer = plays_of(3, 0), new_buffer(1000)
    for turn in range(30):
        buffer.insert(plays[turn % 3].rollout(2), turn % 3)
    held = frames_in(buffer.ring)
    assert len(held) == len(set(held)) == sum(len(play.episode) for play in plays)
    assert len(buffer.learned) == sum(len(play.steps) for play in plays)


@pytest.mark.slow
@settings(deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(21, 50), st.integers(0, 12))
def test_whole_episodes_are_one_list_of_transitions(seed, capacity, calls):
    play = NumberedPlay(ROWS, np.random.default_rng(seed))
    play.episode.clear()
    buffer = new_buffer(capacity, SCHEME, max_seq_length=6)
    for _ in range(calls):
        buffer.insert(play.whole_episodes())
        require_transitions(buffer, play)
    assert buffer.ring.stop == len(play.episode)


def test_an_end_is_one_even_if_the_next_episode_looks_the_same():
    play, buffer = NumberedPlay(ROWS, np.random.default_rng(2)), new_buffer()
    play.present = [[1, 1, True], [2, 1, False], [3, 9, True]]
    for _ in range(2):
        batch = play.rollout(1)
        batch["obs"].zero_()
        batch["state"].zero_()
        buffer.insert(batch)
    # two new frames of the rows whose episodes ended, one of the other
    assert buffer.ring.stop == 6 + 2 + 2 + 1


def test_a_rollout_that_was_left_out_is_no_step():
    """`on_non_finite=skip` leaves rollouts out: the next one does not continue the frames that wait."""
    play, buffer = NumberedPlay(ROWS, np.random.default_rng(3), longest=20), new_buffer()
    buffer.insert(play.rollout(2))
    left_out = set(play.steps)
    play.rollout(2)
    left_out = set(play.steps) - left_out
    buffer.insert(play.rollout(2))
    assert not left_out & set(learned_frames(buffer))
    steps = buffer.learned[np.arange(len(buffer.learned))]
    pairs = buffer.ring.batch(np.stack([steps, buffer.ring.following(steps)], axis=1))["obs"][:, :, 0, 0].long()
    assert all(play.steps[first].after == second for first, second in pairs.tolist())


@settings(deadline=None, max_examples=50)
@given(st.integers(0, 2**32 - 1), st.integers(0, 6))
def test_a_window_follows_the_episode_to_its_end(seed, length):
    play, buffer = NumberedPlay(ROWS, np.random.default_rng(seed)), new_buffer(batch_size=8)
    for _ in range(5):
        buffer.insert(play.rollout(4))
    window = buffer.draw().window(length)
    assert window.max_seq_length == length + 1
    for row in range(8):
        frame = int(window["obs"][row, 0, 0, 0])
        for step in range(1, length + 1):
            known = frame in play.steps and play.steps[frame].after in frames_in(buffer.ring)
            assert bool(window["filled"][row, step]) == known
            if not known:
                assert not window["obs"][row, step:].any()
                assert not window["filled"][row, step:].any()
                break
            frame = play.steps[frame].after
            assert int(window["obs"][row, step, 0, 0]) == frame


@settings(deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 6))
def test_the_course_of_a_rollout_is_that_of_the_learners(seed, steps):
    """The buffer works out in NumPy what `utils.rl_utils` says."""
    for rollout in (True, False):
        play = NumberedPlay(ROWS, np.random.default_rng(seed), lossy=rollout)
        batch = play.rollout(steps) if rollout else play.whole_episodes()
        filled, _, valid, begins = _course(batch, rollout)
        np.testing.assert_array_equal(valid, valid_transitions(batch).squeeze(2) > 0)
        if rollout:
            np.testing.assert_array_equal(begins[:, 1:], (episode_starts(batch).numpy() & filled)[:, 1:])


@pytest.mark.parametrize(("key", "value"), [("obs", 0), ("state", 0), ("filled", 0)])
def test_a_frame_that_differs_or_a_void_one_does_not_continue(key, value):
    play, buffer = endless_play(2), new_buffer()
    for number in range(4):
        batch = play.rollout(1)
        if number == 2:
            batch[key][1, 0] = value
        buffer.insert(batch)
    # the frame of one row is stored again; a void row has no new frame but its last
    assert buffer.ring.stop == 2 * 5 + (key != "filled")


def test_a_frame_of_other_bits_that_shows_the_same_continues():
    play, buffer = endless_play(2), new_buffer()
    for number in range(4):
        batch = play.rollout(1)
        batch["obs"][:, :, 0, 0] = np.nan
        batch["obs"][:, :, 1, 1] = (0.0, -0.0)[number % 2]
        buffer.insert(batch)
    assert buffer.ring.stop == 2 * 5


def test_steps_are_announced_before_they_are_overwritten():
    """A checkpoint that is being written waits for this, and then reads what is still there."""
    play, buffer, announced = endless_play(2), new_buffer(20), []
    for _ in range(12):
        held = [x.clone() for x in buffer.ring.data.values()]
        unchanged = lambda held=held: all(map(equal_or_nan, held, buffer.ring.data.values()))  # noqa: E731
        buffer.journal.before_overwrite(lambda kept, unchanged=unchanged: announced.append((kept, unchanged())))
        buffer.insert(play.rollout(1))
        assert announced[-1] == (buffer.ring.stop - 20, True)
    assert len(announced) == 12


def endless_play(rows):
    """Play in which no episode ends."""
    play = NumberedPlay(rows, np.random.default_rng(0), longest=1)
    for row in range(rows):
        play.present[row][1] = 10**6
    return play


def equal_or_nan(one, other):
    return th.allclose(one.double(), other.double(), rtol=0, atol=0, equal_nan=True)
