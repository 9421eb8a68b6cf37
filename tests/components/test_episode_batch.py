"""EpisodeBatch against a plain NumPy model, and PyMARL's rules of indexing."""

import copy

import numpy as np
import pytest
import torch as th
from hypothesis import given
from hypothesis import strategies as st

from components.episode_buffer import EpisodeBatch
from components.transforms import OneHot, Transform

B, T, N, A = 4, 5, 3, 4
SCHEME = {
    "obs": {"vshape": 2, "group": "agents"},
    "actions": {"vshape": (1,), "group": "agents", "dtype": th.long},
    "reward": {"vshape": (1,)},
    "task": {"vshape": (3,), "episode_const": True},
}
SHAPES = {"obs": (B, T, N, 2), "actions": (B, T, N, 1), "reward": (B, T, 1), "task": (B, 3)}


def make_batch():
    preprocess = {"actions": ("actions_onehot", [OneHot(A)])}
    return EpisodeBatch(SCHEME, {"agents": N}, B, T, preprocess=preprocess)


class Model:
    """The expected content of the batch, written in plain NumPy."""

    def __init__(self):
        self.data = {key: np.zeros(shape) for key, shape in SHAPES.items()}
        self.data["actions_onehot"] = np.zeros((B, T, N, A))
        self.data["filled"] = np.zeros((B, T, 1))

    def write(self, key, rows, steps, values, mark):
        if key == "task":
            for i, row in enumerate(rows):
                self.data["task"][row] = values[i]
            return
        for i, row in enumerate(rows):
            for j, step in enumerate(steps):
                self.data[key][row, step] = values[i, j]
                if mark:
                    self.data["filled"][row, step] = 1
                if key == "actions":
                    for agent in range(N):
                        onehot = np.zeros(A)
                        onehot[int(values[i, j, agent, 0])] = 1
                        self.data["actions_onehot"][row, step, agent] = onehot


def items(size, lists, unique=True):
    """(item, the positions it stands for); `unique`: none twice."""
    every = list(range(size))
    choices = [
        st.integers(-size, size - 1).map(lambda i: (i, [every[i]])),
        # torch has no slices that run backwards
        st.slices(size).filter(lambda s: (s.step or 1) > 0).map(lambda s: (s, every[s])),
    ]
    if lists:
        chosen = st.lists(st.sampled_from(every), unique=unique, max_size=size)
        choices.append(chosen.map(lambda rows: (rows, rows)))
        choices.append(chosen.map(lambda rows: (np.array(rows), rows)))
        choices.append(chosen.map(lambda rows: (th.tensor(rows), rows)))
        choices.append(chosen.map(lambda rows: ([row - size for row in rows], rows)))
        masks = st.lists(st.booleans(), min_size=size, max_size=size)
        for kind in (list, np.array, th.tensor):
            choices.append(masks.map(lambda mask, kind=kind: (kind(mask), [i for i in every if mask[i]])))
    return st.one_of(choices)


WRITES = st.lists(
    st.tuples(
        st.sampled_from(sorted(SHAPES)), items(B, lists=True), items(T, lists=False), st.booleans(), st.integers(0, 999)
    ),
    max_size=6,
)


def values_for(key, rows, steps, seed):
    rng = np.random.default_rng(seed)
    if key == "task":
        return rng.normal(size=(len(rows), 3)).astype(np.float32)
    shape = (len(rows), len(steps), *SHAPES[key][2:])
    return rng.integers(A, size=shape) if key == "actions" else rng.normal(size=shape).astype(np.float32)


def played(writes):
    batch, model = make_batch(), Model()
    for key, (row_item, rows), (step_item, steps), mark, seed in writes:
        values = values_for(key, rows, steps, seed)
        batch.update({key: values}, bs=row_item, ts=step_item, mark_filled=mark)
        model.write(key, rows, steps, values, mark)
    return batch, model


@given(WRITES)
def test_updates(writes):
    batch, model = played(writes)
    for key, expected in model.data.items():
        np.testing.assert_array_equal(batch[key].numpy(), expected, err_msg=key)
    assert batch.max_t_filled().item() == model.data["filled"].sum(1).max()


@given(WRITES, items(B, lists=True, unique=False), items(T, lists=False), st.booleans())
def test_indexing(writes, rows, steps, with_time):
    batch, model = played(writes)
    (row_item, row_ids), (step_item, step_ids) = rows, steps
    if not with_time:
        step_ids = list(range(T))
    part = batch[row_item, step_item] if with_time else batch[row_item]
    assert (part.batch_size, part.max_seq_length) == (len(row_ids), len(step_ids))
    for key, expected in model.data.items():
        wanted = expected[row_ids] if key == "task" else expected[row_ids][:, step_ids]
        np.testing.assert_array_equal(part[key].numpy(), wanted, err_msg=key)
    # numbers and slices give views, lists copies
    shared = isinstance(row_item, int | slice)
    part["reward"].add_(1)
    part["task"].add_(1)
    model.data["reward"][np.ix_(row_ids, step_ids)] += shared
    model.data["task"][row_ids] += shared
    for key in ("reward", "task"):
        np.testing.assert_allclose(batch[key].numpy(), model.data[key], rtol=1e-6, err_msg=key)


def _written(**values):
    return lambda: make_batch().update(values, ts=0)


def _made(scheme, preprocess=None):
    return lambda: EpisodeBatch(scheme, {}, 1, 1, preprocess=preprocess)


def _taken(item):
    return lambda: make_batch()[item]


@pytest.mark.parametrize(
    ("refused", "error", "message"),
    [
        *((_taken((slice(None), steps)), IndexError, "Time must be contiguous") for steps in ([0, 1], np.arange(2))),
        *((_taken(item), IndexError, "by float") for item in (1.5, (0.5, 0))),
        (_taken((0, 0, 0)), IndexError, "at most two items; got 3"),
        *((_taken(item), IndexError, "by NoneType|by bool") for item in (None, True)),
        *((_taken(item), IndexError, "by whole numbers") for item in ([[0, 1]], [0.5], th.tensor(1.5))),
        # as in NumPy and torch: a mask that was made for another batch is a mistake
        *(
            (_taken(kind(mask)), IndexError, "does not fit 4 episodes")
            for mask in ([True] * (B - 1), [False] * (B + 1), [[True]] * B)
            for kind in (list, np.array, th.tensor)
        ),
        (_taken("rewards"), ValueError, "no 'rewards'"),
        (_taken(("obs", "rewards")), KeyError, "rewards"),
        (_written(rewards=[1]), KeyError, "rewards not found"),
        (_written(obs=np.zeros((B, 2, N))), ValueError, "Unsafe reshape of 'obs'"),
        (_written(obs=np.zeros((B, 2 * N))), ValueError, "Unsafe reshape of 'obs'"),
        (_written(obs=[[1, 2], [3]]), ValueError, "'obs' do not make one array"),
        (_made({"filled": {"vshape": 1}}), ValueError, "reserved"),
        (_made({"x": {}}), ValueError, "'x' has no vshape"),
        (_made({"x": {"vshape": 1, "group": "crowd"}}), ValueError, "group 'crowd'"),
        (_made({"x": {"vshape": 1}}, {"y": ("z", [])}), ValueError, "'y'"),
    ],
)
def test_what_makes_no_sense_is_refused(refused, error, message):
    with pytest.raises(error, match=message):
        refused()


def test_names_select_fields_and_share_their_memory():
    batch = make_batch()
    part = batch["obs", "task"]
    assert set(part.scheme) == {"obs", "task"}
    assert part.groups == {"agents": N}
    part["obs"].fill_(1)
    assert batch["obs"].min() == 1
    assert batch["reward",].groups == {}


@pytest.mark.parametrize(
    "rewards",
    [
        [1] * B,
        [[1.0]] * B,
        [np.float32(1)] * B,
        tuple(th.ones(B)),
        [th.ones(1)] * B,
        th.ones(B, dtype=th.float64),
        [True] * B,
    ],
)
def test_values_of_any_kind(rewards):
    batch = make_batch()
    batch.update({"reward": rewards}, ts=2)
    assert batch["reward"].dtype == th.float32
    assert batch["reward"].sum() == B


def test_filled_is_marked_by_fields_that_have_steps():
    batch = make_batch()
    batch.update({"task": np.ones((B, 3))})
    assert batch["filled"].sum() == 0
    batch.update({"task": np.ones((1, 3)), "reward": [[1.0]]}, bs=1, ts=0)
    assert batch["filled"].flatten().tolist() == [0] * T + [1] + [0] * (T - 1) + [0] * 2 * T


def test_fields_can_be_derived_from_constants_and_in_several_steps():
    class Successor(Transform):
        def transform(self, tensor):
            return tensor + 1

        def infer_output_info(self, vshape_in, dtype_in):
            return vshape_in, dtype_in

    scheme = {"map": {"vshape": (1,), "dtype": th.long, "episode_const": True}}
    preprocess = {"map": ("next_map", [Successor(), OneHot(3)])}
    batch = EpisodeBatch(scheme, {}, 2, 4, preprocess=preprocess)
    batch.update({"map": [[1]]}, bs=1)
    assert batch["next_map"].dtype == th.float32
    assert batch["next_map"].tolist() == [[0, 0, 0], [0, 0, 1]]
    assert batch["filled"].sum() == 0


def test_to_moves_everything():
    batch = make_batch()
    assert "Batch Size:4 Max_seq_len:5" in repr(batch)
    batch.to("meta")
    assert batch.device == "meta" and "filled" not in SCHEME
    assert {batch[key].device.type for key in batch.scheme} == {"meta"}


def test_arrays_are_on_the_tensors_memory():
    batch = make_batch()
    (array,) = batch.arrays(["reward"])
    batch["reward"][0, 1] = 3
    assert array[0, 1, 0] == 3 and batch.arrays(["reward"])[0] is array
    copied = copy.deepcopy(batch)
    copied.arrays(["reward"])[0][0, 0] = 5
    assert (copied["reward"][0, 0].item(), batch["reward"][0, 0].item()) == (5, 0)
    batch.data.transition_data["reward"] = th.ones(B, T, 1)
    assert (batch.arrays(["reward"])[0] == 1).all()
