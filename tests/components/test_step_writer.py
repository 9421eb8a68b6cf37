"""The short way into a batch leaves what `EpisodeBatch.update` leaves."""

import numpy as np
import torch as th
from hypothesis import given
from hypothesis import strategies as st

from components.episode_buffer import EpisodeBatch
from components.step_writer import StepWriter
from components.transforms import OneHot

B, T, N, A = 4, 3, 2, 5
SCHEME = {
    "obs": {"vshape": 3, "group": "agents"},
    "state": {"vshape": (6,)},
    "actions": {"vshape": (1,), "group": "agents", "dtype": th.long},
    "avail_actions": {"vshape": (A,), "group": "agents", "dtype": th.int},
    "reward": {"vshape": (1,)},
    "terminated": {"vshape": (1,), "dtype": th.uint8},
}


def batch():
    preprocess = {"actions": ("actions_onehot", [OneHot(A)])}
    return EpisodeBatch(SCHEME, {"agents": N}, B, T, preprocess=preprocess)


def values(rng):
    return {
        "obs": rng.standard_normal((B, N, 3)).astype(np.float32),
        "state": rng.standard_normal((B, 6)),  # float64, as an environment may have it
        "actions": rng.integers(0, A, (B, N, 1)),
        "avail_actions": rng.integers(0, 2, (B, N, A)),
        "reward": rng.standard_normal((B, 1)),
        "terminated": rng.integers(0, 2, (B, 1)).astype(bool),
    }


@given(
    st.lists(
        st.tuples(st.sets(st.integers(0, B - 1), min_size=1), st.integers(0, T - 1), st.booleans()),
        min_size=1,
        max_size=4,
    ),
    st.integers(0, 2**32 - 1),
)
def test_the_same_as_update(writes, seed):
    rng, short, long = np.random.default_rng(seed), batch(), batch()
    writer = StepWriter(short)
    for chosen, t, filled in writes:
        rows, step = sorted(chosen), values(rng)
        writer.write(step | {"unknown": np.zeros((B, 1))}, np.array(rows), t, mark_filled=filled)
        long.update({key: value[rows][:, None] for key, value in step.items()}, bs=rows, ts=t, mark_filled=filled)
    for key in long.scheme:
        assert th.equal(short[key], long[key]), key


@given(st.sets(st.integers(0, B - 1), min_size=1), st.lists(st.integers(0, T - 1), min_size=B, max_size=B))
def test_every_episode_at_its_own_step(chosen, steps):
    rows, step = sorted(chosen), values(np.random.default_rng(0))
    short, long = batch(), batch()
    StepWriter(short).write(step, np.array(rows), np.array(steps)[rows], mark_filled=True)
    for row in rows:
        long.update({key: value[row] for key, value in step.items()}, bs=row, ts=steps[row])
    for key in long.scheme:
        assert th.equal(short[key], long[key]), key


def test_written_values_stay_when_the_source_changes():
    target, source = batch(), np.ones((B, 6))
    StepWriter(target).write({"state": source}, np.arange(B), 0)
    source[:] = 7
    assert (target["state"][:, 0] == 1).all()


def test_tensors_that_are_not_in_main_memory():
    """The other way to write, which a GPU takes."""
    target, other = batch(), batch()
    writer = StepWriter(target)
    writer._views = {}
    step = values(np.random.default_rng(0))
    writer.write(step, np.array([0, 2]), 1, mark_filled=True)
    StepWriter(other).write(step, np.array([0, 2]), 1, mark_filled=True)
    for key in other.scheme:
        assert th.equal(target[key], other[key]), key


def test_fields_are_cleared_with_what_derives_from_them_and_no_others():
    made, everyone = batch(), np.arange(B)
    writer = StepWriter(made)
    for t in range(T):
        writer.write(values(np.random.default_rng(t)) | {"reward": np.ones((B, 1))}, everyone, t)
    before = {key: x.clone() for key, x in made.data.transition_data.items()}
    writer.clear(np.array([1, 3]), 1, ("actions", "nothing of the batch"))
    for key, x in made.data.transition_data.items():
        if key in ("actions", "actions_onehot"):
            assert before[key].any()
            before[key][[1, 3], 1] = 0
        assert th.equal(x, before[key]), key
    writer.clear(np.array([0]), 2)
    assert not any(x[0, 2].any() for x in made.data.transition_data.values())
