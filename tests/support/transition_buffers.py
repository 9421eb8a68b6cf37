"""Small buffers of transitions, what they hold, and the check that it is what was played."""

import numpy as np
import torch as th

from components.buffers.transitions import TransitionReplay
from fakes import RecordingLogger
from helpers import make_args
from numbered_play import GROUPS, PREPROCESS, ROLLOUT_SCHEME, NumberedPlay

ROWS, STEPS = 3, 4


def new_buffer(capacity=60, scheme=ROLLOUT_SCHEME, max_seq_length=STEPS + 1, **changes):
    sizes = {"batch_size": 4, "buffer_size": capacity, "batch_size_run": ROWS, **changes}
    return TransitionReplay(scheme, GROUPS, max_seq_length, PREPROCESS, make_args(**sizes), RecordingLogger())


def restore(copy, buffer):
    """Give another buffer what checkpoints save of a buffer; returns it."""
    copy.load_state_dict(buffer.state_dict())
    if buffer.journal is not None:
        first = buffer.journal.first
        assert (copy.journal.first, copy.journal.stop) == (first, buffer.journal.stop)
        for stop, arrays in buffer.journal.rows(first, buffer.journal.stop):
            copy.journal.put(first, {key: array.copy() for key, array in arrays.items()})
            first = stop
    return copy


def frames_in(ring):
    """The frames that are held, oldest first."""
    places = np.arange(ring.first, ring.stop) % ring.capacity
    return ring.data["obs"][th.from_numpy(places), 0, 0].long().tolist()


def numbers_of(ring, steps):
    places = steps % ring.capacity
    return ring.data["obs"][th.from_numpy(places), 0, 0].long().tolist()


def learned_frames(buffer):
    return numbers_of(buffer.ring, buffer.learned[np.arange(len(buffer.learned))])


def require_transitions(buffer, play):
    """Everything that is held is as it was played."""
    ring, held = buffer.ring, frames_in(buffer.ring)
    assert len(held) == len(set(held)), "a frame is stored twice"
    played = [frame for frame in held if frame in play.steps]
    assert learned_frames(buffer) == played
    if not played:
        return
    steps = buffer.learned[np.arange(len(buffer.learned))]
    pairs = ring.batch(np.stack([steps, ring.following(steps)], axis=1))
    for row, frame in enumerate(played):
        step = play.steps[frame]
        assert pairs["obs"][row, :, 0, 0].tolist() == [frame, step.after]
        assert pairs["state"][row, 1, 0] == step.after
        assert pairs["reward"][row, 0, 0] == frame + 0.5
        assert pairs["actions"][row, 0, 0, 0] == frame % 3
        assert pairs["actions_onehot"][row, 0, 1].argmax() == frame % 3
        assert (pairs["terminated"][row, 0], pairs["truncated"][row, 0]) == (step.terminated, step.truncated)


def plays_of(sources, seed):
    """Play of several runners, whose frames have different numbers."""
    return [NumberedPlay(ROWS, np.random.default_rng([seed, k]), count=10**5 * k) for k in range(sources)]
