"""Batches in the memory layout of a buffer of transitions."""

import copy

import numpy as np
import torch as th

from components.episode_batch import EpisodeBatch
from components.record_batch import RecordBatch
from components.step_records import StepRecords, step_layout
from components.step_writer import StepWriter
from numbered_play import GROUPS, PREPROCESS, ROLLOUT_SCHEME

ROWS, COLUMNS = 3, 4
LAYOUT = step_layout(ROLLOUT_SCHEME, GROUPS, PREPROCESS)


def new_batches(rows=ROWS, columns=COLUMNS):
    fields = ROLLOUT_SCHEME, GROUPS, rows, columns
    return EpisodeBatch(*fields, preprocess=PREPROCESS), RecordBatch(LAYOUT, *fields, preprocess=PREPROCESS)


def written(batch, seed=0):
    """The batch, with numbers in all columns."""
    rng, store = np.random.default_rng(seed), StepWriter(batch)
    for t in range(batch.max_seq_length):
        values = {key: rng.integers(0, 3, x[:, t].shape) for key, x in batch.data.transition_data.items()}
        del values["actions_onehot"], values["filled"]
        store.write(values, np.arange(batch.batch_size), t, mark_filled=True)
    return batch


def test_it_is_an_episode_batch():
    plain, records = (written(batch) for batch in new_batches())
    assert plain.scheme == records.scheme
    for key in plain.scheme:
        assert plain[key].dtype == records[key].dtype, key
        assert th.equal(plain[key], records[key]), key
        assert th.equal(plain[1:, 2][key], records[1:, 2][key]), key
    for batch in (plain, records):
        batch.update({"reward": [[[5.0]] * 2] * ROWS, "actions": th.ones(ROWS, 2, 2, 1)}, ts=slice(1, 3))
    assert th.equal(plain["reward"], records["reward"])
    assert th.equal(plain["actions_onehot"], records["actions_onehot"])


def test_records_of_a_step_are_its_fields_and_columns_follow_each_other():
    _, batch = new_batches()
    written(batch)
    records = batch.records_of(LAYOUT)
    assert {*batch.apart} == {"actions", "avail_actions"}  # they are stored in smaller types
    seen = np.frombuffer(records.seen, LAYOUT.seen).reshape(COLUMNS, ROWS)
    done = np.frombuffer(records.done, LAYOUT.done).reshape(COLUMNS, ROWS)
    for key, x in batch.data.transition_data.items():
        if key in LAYOUT.seen.names:
            np.testing.assert_array_equal(seen[key], x.transpose(0, 1))
        elif key in LAYOUT.done.names and key not in batch.apart:
            np.testing.assert_array_equal(done[key], x.transpose(0, 1))
    assert LAYOUT.seen.names == ("obs", "state")
    assert LAYOUT.done.names[-2:] == ("terminated", "truncated")


def test_the_layout_of_equal_fields_is_one_object():
    derived = EpisodeBatch(ROLLOUT_SCHEME, GROUPS, 1, 1, preprocess=PREPROCESS).scheme
    assert step_layout(derived, GROUPS, PREPROCESS) is LAYOUT
    other = {**ROLLOUT_SCHEME, "reward": {"vshape": (2,), "kind": "outcome"}}
    assert step_layout(other, GROUPS, PREPROCESS) is not LAYOUT


def test_copies_have_their_own_memory():
    _, batch = new_batches()
    other = copy.deepcopy(written(batch))
    assert other.records_of(LAYOUT) is None
    other["reward"][:] = 9
    assert not (batch["reward"] == 9).any() and (other["obs"] == batch["obs"]).all()


def test_records_are_those_of_its_own_tensors_only():
    _, batch = new_batches(1, 1)
    written(batch)
    assert batch.records_of(LAYOUT) is not None
    assert batch.records_of(step_layout({**ROLLOUT_SCHEME, "more": {"vshape": 1}}, GROUPS, PREPROCESS)) is None
    batch.data.transition_data["obs"] = batch["obs"] + 1
    assert batch.records_of(LAYOUT) is None
    _, batch = new_batches(1, 1)
    batch.data.transition_data["reward"] = th.ones(1, 1, 1)  # of one number
    assert batch.records_of(LAYOUT) is None


def test_records_in_a_row_are_those_of_a_ring():
    records = StepRecords(LAYOUT, (5,))
    records.arrays["reward"][3] = 2
    assert np.frombuffer(records.done, LAYOUT.done)["reward"][:, 0].tolist() == [0, 0, 0, 2, 0]
