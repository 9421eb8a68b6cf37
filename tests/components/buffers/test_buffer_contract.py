"""The contract of buffers with the loop, learners and checkpoints, for every registered one."""

import sys
from collections import deque

import numpy as np
import pytest
import torch as th
from hypothesis import given
from hypothesis import strategies as st

from components.buffers import REGISTRY, episode_journal, transition_journal, transition_room
from components.episode_batch import EpisodeBatch
from components.scheme import scheme_of
from envs.contract.fields import pymarl_spec
from fakes import RecordingLogger
from helpers import SIZES, make_args, random_batch
from transition_buffers import restore
from utils.errors import MusterError

LENGTH = 6
BUILT_IN = [name for name in REGISTRY if REGISTRY.entry(name).declared]


def new_buffer(name, **changes):
    sizes = {"batch_size": 2, "buffer_size": 5, "batch_size_run": 2, **changes}
    sizes["buffer_size"] *= 10 if name == "transitions" else 1  # steps, not episodes
    scheme, groups, preprocess = scheme_of(pymarl_spec(SIZES))
    return REGISTRY[name](scheme, groups, LENGTH, preprocess, make_args(**sizes), RecordingLogger())


def rows_of(batch):
    """A mark that differs between the rows of a batch."""
    return {tuple(row.flatten().tolist()) for row in batch["obs"][:, 0]}


def steps_of(batch):
    """The same of its steps."""
    return {tuple(step.flatten().tolist()) for row in batch["obs"] for step in row}


@pytest.fixture(params=BUILT_IN)
def name(request):
    return request.param


def test_an_empty_buffer_is_not_ready(name):
    buffer = new_buffer(name)
    assert not buffer.ready()
    assert buffer.sample_size() == 0
    with pytest.raises(ValueError):
        buffer.sample()


@pytest.mark.parametrize("ends", ["terminated", "truncated"])
def test_insert_counts_transitions(name, ends):
    buffer = new_buffer(name)
    assert buffer.insert(random_batch([2, 5], LENGTH, ends)) == 7
    assert buffer.insert(random_batch([1, 1], LENGTH, ends)) == 2


def test_a_sample_is_a_batch_of_experience(name):
    buffer = new_buffer(name)
    played = [random_batch([2, 3], LENGTH, seed=seed) for seed in range(4)]
    for number, batch in enumerate(played):
        buffer.insert(batch)
        assert buffer.ready()
        sample = buffer.sample()
        assert isinstance(sample, EpisodeBatch)
        assert (sample.batch_size, sample.device) == (2, "cpu")
        assert sample.max_seq_length == int(sample.max_t_filled())
        assert rows_of(sample) <= set().union(*(steps_of(one) for one in played[: number + 1]))
        for key, info in batch.scheme.items():
            assert sample[key].dtype == info.get("dtype", th.float32), key
            assert sample[key].shape[2:] == batch[key].shape[2:], key


def test_its_scheme_is_that_of_a_batch(name):
    scheme, groups, preprocess = scheme_of(pymarl_spec(SIZES))
    buffer = new_buffer(name)
    assert dict(buffer.scheme) == EpisodeBatch(scheme, groups, 1, 1, preprocess=preprocess).scheme
    assert (buffer.groups, set(buffer.preprocess)) == (groups, set(preprocess))


def test_only_numpys_generator_is_drawn_from(name):
    """Torch's belongs to acting, which may play ahead meanwhile."""
    buffer = new_buffer(name)
    for seed in range(3):
        buffer.insert(random_batch([2, 3], LENGTH, seed=seed))
    before, samples = th.get_rng_state(), []
    for _ in range(2):
        np.random.seed(5)
        samples.append([buffer.sample()["obs"] for _ in range(4)])
    assert th.equal(th.get_rng_state(), before)
    assert all(th.equal(one, other) for one, other in zip(*samples, strict=True))


@pytest.mark.parametrize("block_bytes", [1, 2**20])
def test_a_checkpoint_restores_the_buffer(name, block_bytes, monkeypatch):
    """A resumed run plays on and then samples the same."""
    for journal in (episode_journal, transition_journal):
        monkeypatch.setattr(journal, "BLOCK_BYTES", block_bytes)
    buffer = new_buffer(name)
    for seed in range(4):
        buffer.insert(random_batch([2, 3 - seed % 2], LENGTH, seed=seed))
    samples = []
    for one in (restore(new_buffer(name), buffer), buffer):
        one.insert(random_batch([1, 4], LENGTH, seed=9))
        np.random.seed(5)
        samples.append([one.sample() for _ in range(6)])
        samples[-1].append(one.sample_size())
    assert samples[0].pop() == samples[1].pop()
    for restored, expected in zip(*samples, strict=True):
        for key in expected.scheme:
            assert th.equal(restored[key], expected[key]), key


def test_a_sample_too_large_for_the_memory_is_refused(name, monkeypatch, tmp_path):
    # five stored episodes, which are smaller than a sample of five
    memory = new_buffer("episodes").episodes.nbytes
    asks = "episodes" if name == "on_off" else name
    module = transition_room if name == "transitions" else sys.modules[REGISTRY[asks].__module__]
    monkeypatch.setattr(module, "device_memory", lambda device: memory)
    of_steps = {"batch_size": 50, "buffer_folder": str(tmp_path)} if name == "transitions" else {}
    with pytest.raises(MusterError, match=r"A training sample .* does not fit"):
        new_buffer(name, **{"batch_size": 5, "batch_size_run": 5, **of_steps})


@pytest.mark.slow
@given(st.lists(st.lists(st.integers(1, LENGTH - 1), min_size=1, max_size=4), min_size=1, max_size=6))
def test_the_size_of_a_sample_of_episodes_is_the_mean_of_those_held(inserts):
    buffer, held = new_buffer("episodes", batch_size=3), deque(maxlen=5)
    for lengths in inserts:
        assert buffer.insert(random_batch(lengths, LENGTH)) == sum(lengths)
        held.extend(lengths)
        assert buffer.sample_size() == pytest.approx(3 * sum(held) / len(held))


def test_more_episodes_than_fit():
    buffer = new_buffer("episodes", batch_size=2, buffer_size=3)
    assert buffer.insert(random_batch([1, 1, 1, 5, 5], LENGTH)) == 13
    assert buffer.sample_size() == pytest.approx(2 * 11 / 3)


def test_the_newest_rollout_is_not_copied():
    buffer, batch = new_buffer("rollout"), random_batch([2, 3], LENGTH)
    buffer.insert(batch)
    assert buffer.sample()["obs"].data_ptr() == batch["obs"].data_ptr()
    assert buffer.sample().max_seq_length == 4
    assert buffer.sample_size() == 5
    newer = random_batch([1, 1], LENGTH, seed=1)
    buffer.insert(newer)
    assert rows_of(buffer.sample()) == rows_of(newer)
    assert buffer.sample_size() == 2
