"""Buffers with transforms before and behind them."""

import numpy as np
import pytest
import torch as th

from components.buffers.with_transforms import TransformedBuffer, build_buffer
from components.sampling import REGISTRY
from components.sampling.compose import Minibatches
from components.sampling.fields import with_more
from fakes import RecordingLogger
from helpers import make_args
from numbered_play import GROUPS, PREPROCESS, ROLLOUT_SCHEME, NumberedPlay
from transition_buffers import restore
from utils.errors import ConfigError, MusterError

ROWS, STEPS = 3, 4


def new_buffer(name="transitions", capacity=60, **changes):
    args = make_args(**{"batch_size": 4, "buffer_size": capacity, "batch_size_run": ROWS, "gamma": 0.9, **changes})
    return build_buffer(name, ROLLOUT_SCHEME, GROUPS, STEPS + 1, PREPROCESS, args, RecordingLogger())


@pytest.fixture
def play():
    return NumberedPlay(ROWS, np.random.default_rng(5))


def test_without_units_it_is_the_buffer_itself():
    assert not isinstance(new_buffer(), TransformedBuffer)
    assert isinstance(new_buffer(debug_transforms=True), TransformedBuffer)


def test_the_default_of_transitions_is_next_states(play):
    rollouts, samples = [play.rollout(4) for _ in range(4)], []
    for transforms in ([], ["next_states"], [{"window": {"steps": 1}}]):
        buffer = new_buffer(sample_transforms=transforms)
        for rollout in rollouts:
            buffer.insert(rollout)
        np.random.seed(1)
        samples.append(buffer.sample())
    for key in samples[0].scheme:
        assert th.equal(samples[0][key], samples[1][key])
        assert th.equal(samples[0][key], samples[2][key])


def test_n_step_samples_of_transitions(play):
    buffer = new_buffer(sample_transforms=[{"window": {"steps": 3}}, {"n_step": {"steps": 3}}])
    for _ in range(5):
        buffer.insert(play.rollout(4))
    sample = buffer.sample()
    assert "discount" in buffer.scheme
    for row in range(4):
        frame, total, steps = int(sample["obs"][row, 0, 0, 0]), 0.0, 0
        while frame in play.steps and steps < 3:
            total, steps, step = total + 0.9**steps * (frame + 0.5), steps + 1, play.steps[frame]
            frame = step.after
            if step.terminated or step.truncated:
                break
        assert int(sample["obs"][row, 1, 0, 0]) == frame
        assert float(sample["reward"][row, 0]) == pytest.approx(total, rel=1e-6)
        assert float(sample["discount"][row]) == pytest.approx(0.9**steps)
        assert (bool(sample["terminated"][row, 0]), bool(sample["truncated"][row, 0])) == (
            step.terminated,
            step.truncated,
        )


def test_a_unit_at_storing_may_add_fields(play):
    def doubled(batch, info, factor=2):
        return with_more(batch, {"doubled": factor * batch["reward"]})

    REGISTRY["doubled"] = doubled
    try:
        buffer = new_buffer(store_transforms=[{"doubled": {"factor": 3}}, "check_nan"])
    finally:
        del REGISTRY["doubled"]
    for _ in range(3):
        buffer.insert(play.rollout(4))
    sample = buffer.sample()
    assert "doubled" in buffer.scheme
    assert sample["doubled"].any()
    assert th.equal(sample["doubled"], 3 * sample["reward"])


def test_a_missing_field_is_refused_when_the_buffer_is_built():
    with pytest.raises(ConfigError, match=r"sample_transforms: 'gae' needs the field 'value', .*It has obs,"):
        new_buffer(sample_transforms=["next_states", "gae"])
    with pytest.raises(ConfigError, match=r"store_transforms: 'gae' needs the field 'value'"):
        new_buffer(store_transforms=["gae"])


def test_debugging_looks_at_what_is_stored_and_sampled(play):
    buffer = new_buffer(debug_transforms=True)
    buffer.insert(play.rollout(4))
    assert buffer.sample().max_seq_length == 2
    broken = play.rollout(4)
    broken["obs"][2, 1, 0, 0] = float("inf")
    with pytest.raises(MusterError, match=r"store_transforms, before its first transform: obs\[1, 0, 0\] of episode 2"):
        buffer.insert(broken)


@pytest.mark.parametrize("name", ["transitions", "episodes", "rollout"])
def test_a_resumed_run_has_the_state_of_its_units(name, play):
    changes = {"store_transforms": [{"normalise": {"fields": ["reward"]}}], "capacity": 60}
    buffer = new_buffer(name, **changes)
    for _ in range(5):
        buffer.insert(play.rollout(4))
    copy = restore(new_buffer(name, **changes), buffer)
    later, samples = play.rollout(4), []
    for one in (buffer, copy):
        np.random.seed(3)
        one.insert(later)
        samples.append(one.sample())
    assert th.equal(samples[0]["reward"], samples[1]["reward"])
    with pytest.raises(ValueError, match="other names"):
        new_buffer(name, store_transforms=["truncate"]).load_state_dict(buffer.state_dict())


def test_a_sample_may_be_several_batches(play):
    buffer = new_buffer("rollout", sample_transforms=[{"recurrent_minibatches": {"parts": 3}}])
    buffer.insert(play.rollout(4))
    sample = buffer.sample()
    assert isinstance(sample, Minibatches)
    assert [part.batch_size for part in sample] == [1, 1, 1]


def test_held_out_samples_pass_the_units_too(play):
    np.random.seed(0)
    buffer = new_buffer(hold_out=0.5, sample_transforms=[{"window": {"steps": 2}}])
    for _ in range(8):
        buffer.insert(play.rollout(4))
    assert buffer.hold_out().max_seq_length == 3
    assert new_buffer("episodes", debug_transforms=True).hold_out() is None


def test_priorities_reach_the_buffer(play):
    buffer = new_buffer(priority_alpha=1.0, debug_transforms=True)
    for _ in range(3):
        buffer.insert(play.rollout(4))
    sample = buffer.sample()
    buffer.update_priorities(sample["ids"], th.full((4,), 1e9))
    assert set(buffer.sample()["ids"].tolist()) <= set(sample["ids"].tolist())
