"""The memory of the buffer of transitions: its size, changed in a run or refused, its file, and its fields' types."""

import os

import numpy as np
import pytest
import torch as th
from hypothesis import given, settings
from hypothesis import strategies as st

from components.buffers.transitions import TransitionReplay
from components.scheme import scheme_of
from envs.contract.fields import FieldSpec, pymarl_spec
from fakes import RecordingLogger
from helpers import make_args
from numbered_play import SCHEME, SIZES, NumberedPlay
from transition_buffers import ROWS, STEPS, frames_in, learned_frames, new_buffer, require_transitions, restore
from utils.errors import ConfigError, MusterError


@pytest.mark.slow
@settings(deadline=None)
@given(st.integers(0, 2**32 - 1), st.lists(st.integers(18, 70), min_size=1, max_size=4), st.booleans())
def test_a_resized_buffer_holds_what_it_held(seed, sizes, prioritised):
    """As much of it as fits; and play continues, also in a buffer that resumes from its records."""
    play, buffer = NumberedPlay(ROWS, np.random.default_rng(seed)), new_buffer(40, priority_alpha=prioritised * 0.5)
    for _ in range(9):
        buffer.insert(play.rollout(STEPS))
    for size in sizes:
        held = frames_in(buffer.ring)
        buffer.args.buffer_size = size
        buffer.take_live("buffer_size", size)
        assert frames_in(buffer.ring) == held[-size:]
        require_transitions(buffer, play)
        buffer.insert(play.rollout(STEPS))
        require_transitions(buffer, play)
    copy = restore(new_buffer(40, priority_alpha=prioritised * 0.5), buffer)
    assert copy.ring.capacity == sizes[-1]
    later = play.rollout(STEPS)
    for one in (buffer, copy):
        one.insert(later)
    assert frames_in(copy.ring) == frames_in(buffer.ring)
    assert learned_frames(copy) == learned_frames(buffer)
    require_transitions(copy, play)


def test_a_size_that_does_not_fit_changes_nothing():
    _, buffer = NumberedPlay(ROWS, np.random.default_rng(0)), new_buffer(40)
    with pytest.raises(ConfigError, match="buffer_size=3 does not hold a rollout"):
        buffer.take_live("buffer_size", 3)
    assert buffer.ring.capacity == buffer.args.buffer_size == 40


def test_a_memory_map_holds_the_same_and_leaves_no_file(tmp_path):
    held = []
    for folder in ("", str(tmp_path)):
        play, buffer = NumberedPlay(ROWS, np.random.default_rng(5)), new_buffer(40, buffer_folder=folder)
        for _ in range(12):
            buffer.insert(play.rollout(2))
        np.random.seed(0)
        sample = buffer.sample()
        held.append({key: sample[key] for key in sample.scheme})
        assert not os.listdir(tmp_path)
    assert all(th.equal(held[0][key], held[1][key]) for key in held[0])


def test_sizes_are_refused_before_anything_is_allocated(tmp_path, monkeypatch):
    with pytest.raises(ConfigError, match="does not hold a rollout, which takes up to 18 steps"):
        new_buffer(17)
    with pytest.raises(MusterError, match=r"The replay buffer .* does not fit"):
        new_buffer(10**9)
    with pytest.raises(MusterError, match=r"does not fit into .*free"):
        new_buffer(10**9, scheme=SCHEME | {"camera": {"vshape": (10**6,)}}, buffer_folder=str(tmp_path))
    with pytest.raises(ConfigError, match="buffer_folder=/nowhere: No such file"):
        new_buffer(buffer_folder="/nowhere")


def test_pictures_keep_one_byte_and_observations_the_buffers_type():
    fields = {**pymarl_spec(SIZES).fields, "camera": FieldSpec("observation", (3, 4), "uint8")}
    spec = pymarl_spec(SIZES)
    scheme, groups, preprocess = scheme_of(type(spec)(fields, spec.groups, 5), "float16")
    args = make_args(buffer_size=60, batch_size_run=ROWS, batch_size=4)
    ring = TransitionReplay(scheme, groups, STEPS + 1, preprocess, args, RecordingLogger()).ring
    assert (ring.data["camera"].dtype, ring.data["obs"].dtype) == (th.uint8, th.float16)
    assert "actions_onehot" not in ring.data
