"""A buffer that keeps its fields small gives what PyMARL's layout would give."""

from collections import deque

import numpy as np
import pytest
import torch as th
from compact_episodes import A, N, T, as_batch, assert_holds, make_buffer, make_episode
from hypothesis import given
from hypothesis import strategies as st

from components.episode_buffer import ReplayBuffer
from components.storage import narrowed, smallest_integer
from components.transforms import OneHot, Transform
from utils.errors import MusterError

INSERTS = st.lists(
    st.tuples(st.lists(st.integers(1, T), min_size=1, max_size=6), st.booleans(), st.booleans()), min_size=1, max_size=6
)


@pytest.mark.slow
@given(st.integers(1, 5), INSERTS, st.sampled_from(["float32", "float16"]))
def test_samples_are_those_of_pymarls_layout(size, inserts, buffer_dtype):
    """Each insert: lengths of its episodes, is its batch as long as the limit, do closing steps have actions?"""
    buffer, model, kept = make_buffer(size, buffer_dtype), {}, deque(maxlen=size)
    half = buffer_dtype == "float16"
    for lengths, whole, acts_at_the_end in inserts:
        numbers = range(len(model) + 1, len(model) + 1 + len(lengths))
        new = {
            number: make_episode(number, steps, acts_at_the_end) for number, steps in zip(numbers, lengths, strict=True)
        }
        buffer.insert_episode_batch(as_batch(new, T if whole else max(lengths)))
        model |= new
        kept.extend(new)
        for count in range(1, len(kept) + 1):
            for sample in (buffer.sample(count), buffer.sample(count, trimmed=True)):
                chosen = sample["number"][:, 0].tolist()
                assert len(set(chosen)) == count
                assert set(chosen) <= set(kept)
                longest = max(int(model[number]["filled"].sum()) for number in chosen)
                assert int(sample.max_t_filled()) == longest
                assert sample.max_seq_length in (longest, T)
                assert_holds(sample, chosen, model, sample.max_seq_length, half)
                assert_holds(sample[:, :longest], chosen, model, longest, half)
        slots = buffer["number"][: len(kept), 0].tolist()
        assert sorted(slots) == sorted(kept)
        assert_holds(buffer[: len(kept)], slots, model, T, half)


def test_a_trimmed_sample_is_as_long_as_its_own_longest_episode():
    buffer = make_buffer(3)
    buffer.insert_episode_batch(as_batch({1: make_episode(1, 2, True), 2: make_episode(2, 6, True)}, T))
    lengths = {buffer.sample(1, trimmed=True).max_seq_length for _ in range(40)}
    assert lengths == {2, 6}
    assert buffer.sample(1).max_seq_length == T


def test_a_buffer_is_updated_like_a_batch():
    """PyMARL's users write into it directly."""
    buffer, batch = (
        make_buffer(3, "float16"),
        as_batch({1: make_episode(1, 1, True)} | {2: make_episode(2, 1, True)}, T),
    )
    writes = [
        ({"actions": [[[1], [4]]], "avail_actions": [[[1] * A] * N]}, [2], 3, True),
        ({"actions": np.zeros((2, N, 1))}, slice(0, 2), 1, True),
        ({"reward": [[0.5]], "number": [[7]]}, 1, 5, False),
        ({"obs": np.full((3, 2, N, 3), 0.25)}, slice(None), slice(0, 3, 2), True),
    ]
    expected = as_batch({0: make_episode(0, 0, True), 8: make_episode(0, 0, True), 9: make_episode(0, 0, True)}, T)
    expected["number"].zero_()
    for data, rows, steps, mark_filled in writes:
        for target in (buffer, expected):
            target.update(data, bs=rows, ts=steps, mark_filled=mark_filled)
    for key in expected.scheme:
        assert th.equal(buffer[key], expected[key]), key
        assert buffer[key].dtype == expected[key].dtype, key
    assert buffer["actions_onehot", "obs"]["actions_onehot"].sum() == 3 * N
    with pytest.raises(KeyError, match="rewards not found"):
        buffer.update({"rewards": [1]})
    # an episode that comes later leaves nothing of it
    buffer.insert_episode_batch(batch)
    assert buffer["filled"][:2].sum() == 2
    assert buffer["reward"][1, 5] == 0


def test_fields_that_a_batch_lacks_become_zero():
    buffer = make_buffer(1)
    buffer.insert_episode_batch(as_batch({1: make_episode(1, 5, True)}, T))
    buffer.insert_episode_batch(as_batch({2: make_episode(2, 3, True)}, T)["obs", "filled"])
    assert buffer["obs"].count_nonzero() == 3 * N * 3
    for key in ("state", "actions_onehot", "number"):
        assert buffer[key].count_nonzero() == 0, key


def _inserted(changed, buffer_dtype="float16"):
    batch = as_batch({1: make_episode(1, 3, True)}, T)
    changed(batch)
    make_buffer(1, buffer_dtype).insert_episode_batch(batch)


def _with(key, value):
    return lambda: _inserted(lambda batch: batch[key][0, 1, 0].fill_(value))


def _stored(dtype, storage):
    return lambda: ReplayBuffer({"x": {"vshape": 1, "dtype": dtype, "storage": storage}}, {}, 1, 1)


@pytest.mark.parametrize(
    ("refused", "error", "message"),
    [
        (
            _with("obs", 70000.0),
            MusterError,
            r"'obs' holds values from .* to 70000\..*float16, from -65504 to 65504.*buffer_dtype=float32",
        ),
        (_with("state", -float("inf")), MusterError, "'state' holds values from -inf"),
        (_with("avail_actions", -1), MusterError, "from -1 to .*uint8, from 0 to 255.*storage in the scheme"),
        (_with("avail_actions", 256), MusterError, "to 256"),
        (_with("actions_onehot", 1 / A), ValueError, "'actions_onehot' differs from the values derived from 'actions'"),
        (
            lambda: _inserted(lambda batch: batch.data.transition_data.update(messages=th.zeros(1, T, 1))),
            KeyError,
            "messages not found",
        ),
        *(
            (_stored(*types), ValueError, r"'x' is torch\.\w+ and cannot be stored as")
            for types in ((th.float32, th.uint8), (th.long, th.float16), (th.int, th.bool))
        ),
    ],
)
def test_what_a_buffer_cannot_keep_is_refused(refused, error, message):
    with pytest.raises(error, match=message):
        refused()


class Doubled(Transform):
    """Keeps a count: it must not be applied again."""

    def transform(self, tensor):
        return tensor * 2

    def infer_output_info(self, vshape_in, dtype_in):
        return vshape_in, dtype_in


def test_only_declared_fields_are_stored_in_another_way():
    """A scheme as PyMARL's users write it stays as it is, with any fields."""
    scheme = {
        "codes": {"vshape": (2,), "dtype": th.int},
        "x": {"vshape": (1,), "dtype": th.long},
        "done": {"vshape": 1},
    }
    scheme["flag"] = {"vshape": (1,), "dtype": th.bool}
    buffer = ReplayBuffer(scheme, {}, 2, 3, preprocess={"x": ("twice", [Doubled()])})
    stored = buffer.data.transition_data
    wanted = {"codes": th.int, "x": th.long, "twice": th.long, "done": th.float32, "flag": th.bool, "filled": th.uint8}
    assert {key: tensor.dtype for key, tensor in stored.items()} == wanted
    assert stored["twice"].shape == (2, 3, 1)
    assert buffer["codes"].data_ptr() == stored["codes"].data_ptr()


def test_fields_derived_from_rounded_values_are_stored():
    scheme = {"x": {"vshape": (1,), "dtype": th.float32, "storage": th.float16}}
    buffer = ReplayBuffer(scheme, {}, 2, 3, preprocess={"x": ("x_onehot", [OneHot(7)])})
    assert buffer.data.transition_data["x_onehot"].shape == (2, 3, 7)


def test_values_that_just_fit():
    batch = as_batch({1: make_episode(1, 3, True)}, T)
    batch["obs"][0, 1] = 65504
    batch["obs"][0, 2, 0, 0] = -65504
    batch["avail_actions"][0, 0, 0, 0] = 255
    buffer = make_buffer(1, "float16")
    buffer.insert_episode_batch(batch)
    assert (buffer["obs"].max(), buffer["obs"].min()) == (65504, -65504)
    assert buffer["avail_actions"].max() == 255
    large = make_buffer(1)
    batch["obs"][0, 1] = 1e30
    large.insert_episode_batch(batch)
    assert large["obs"].max() == th.tensor(1e30)


@pytest.mark.parametrize(
    ("count", "dtype"), [(1, th.uint8), (256, th.uint8), (257, th.int16), (32768, th.int16), (32769, th.int32)]
)
def test_the_smallest_integer(count, dtype):
    assert smallest_integer(count) == dtype


@pytest.mark.parametrize(
    ("values", "dtype", "fits"),
    [
        ([0, 255], np.uint8, True),
        ([256], np.uint8, False),
        ([-1], np.uint8, False),
        ([65504.0, np.nan, -65504.0], np.float16, True),
        ([70000.0], np.float16, False),
        ([np.inf], np.float16, False),
    ],
)
def test_values_are_narrowed_as_torch_does_it(values, dtype, fits):
    values = np.array(values, np.int64 if dtype == np.uint8 else np.float32)
    if not fits:
        with pytest.raises(MusterError, match=f"'x' holds values.*keeps it as {np.dtype(dtype).name}"):
            narrowed("x", values, np.dtype(dtype))
        return
    kept = narrowed("x", values, np.dtype(dtype))
    assert kept.dtype == dtype
    np.testing.assert_array_equal(kept, th.from_numpy(values).to(getattr(th, kept.dtype.name)).numpy())
