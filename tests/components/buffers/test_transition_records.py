"""The buffer of transitions resumed from its records, and copied."""

import copy

import numpy as np
import pytest
import torch as th

from numbered_play import NumberedPlay
from transition_buffers import ROWS, frames_in, new_buffer, plays_of, require_transitions, restore


@pytest.mark.parametrize("changes", [{}, {"priority_alpha": 0.6, "hold_out": 0.3}, {"buffer_folder": "TMP"}])
@pytest.mark.parametrize("steps", [1, 4])
@pytest.mark.parametrize("sources", [1, 2])
def test_a_resumed_run_plays_on_and_samples_the_same(changes, steps, sources, tmp_path):
    changes = {key: str(tmp_path) if value == "TMP" else value for key, value in changes.items()}
    np.random.seed(1)
    plays, buffer = plays_of(sources, 5), new_buffer(40, **changes)
    for number in range(17):
        buffer.insert(plays[number % sources].rollout(steps), number % sources)
        if changes and number % 3 == 0 and buffer.ready() and "priority_alpha" in changes:
            sample = buffer.sample()
            buffer.update_priorities(sample["ids"], sample["obs"][:, 0, 0, 0])
    copy = restore(new_buffer(40, **changes), buffer)
    later = [plays[number % sources].rollout(steps) for number in range(17, 26)]
    samples = []
    for one in (buffer, copy):
        np.random.seed(3)
        samples.append([])
        for number, rollout in enumerate(later, start=17):
            one.insert(rollout, number % sources)
            samples[-1].append(one.sample())
            samples[-1].append(one.hold_out() or one.sample())
    for one, other in zip(*samples, strict=True):
        assert set(one.scheme) == set(other.scheme)
        assert all(th.equal(one[key], other[key]) for key in one.scheme)
    assert frames_in(buffer.ring) == frames_in(copy.ring)


def test_records_that_were_written_do_not_change():
    """A file of a checkpoint stays valid while the buffer holds any of its steps."""
    play, buffer, written = NumberedPlay(ROWS, np.random.default_rng(5)), new_buffer(40), {}
    for _ in range(30):
        buffer.insert(play.rollout(1))
        journal = buffer.journal
        held = next(iter(journal.rows(journal.first, journal.stop)), (0, {}))[1]
        for offset, number in enumerate(range(journal.first, journal.first + len(held.get("kind", ())))):
            record = {key: array[offset].tolist() for key, array in held.items()}
            assert written.setdefault(number, record) == record


@pytest.mark.slow
@pytest.mark.parametrize("changes", [{}, {"buffer_folder": "TMP"}])
def test_a_copy_has_its_own_memory_and_continues(changes, tmp_path):
    changes = {key: str(tmp_path) for key in changes}
    play, buffer = NumberedPlay(ROWS, np.random.default_rng(5), longest=30), new_buffer(40, **changes)
    for _ in range(9):
        buffer.insert(play.rollout(1))
    copied = copy.deepcopy(buffer)
    require_transitions(copied, play)
    held, rollouts = frames_in(buffer.ring), [play.rollout(1) for _ in range(20)]
    for rollout in rollouts:
        buffer.insert(rollout)
    assert frames_in(copied.ring) == held
    for rollout in rollouts:
        copied.insert(rollout)
    for one in (buffer, copied):
        require_transitions(one, play)
    assert frames_in(copied.ring) == frames_in(buffer.ring)


def test_damaged_blocks_are_refused():
    play, buffer = NumberedPlay(ROWS, np.random.default_rng(5)), new_buffer(40)
    buffer.insert(play.rollout(4))
    (_, arrays), *_ = buffer.journal.rows(0, buffer.journal.stop)
    copy = new_buffer(40)
    copy.load_state_dict(buffer.state_dict())
    with pytest.raises(ValueError, match="instead of"):
        copy.journal.put(0, {key: value for key, value in arrays.items() if key != "field/reward"})
    with pytest.raises(ValueError, match="does not exist"):
        copy.journal.put(0, {**arrays, "ahead": arrays["ahead"] + 1000})
