"""A buffer that keeps its fields small gives what PyMARL's layout would give."""

import subprocess
import sys
from collections import deque
from pathlib import Path

import numpy as np
import pytest
import torch as th
from hypothesis import given
from hypothesis import strategies as st
from torch.utils._python_dispatch import TorchDispatchMode

from components.episode_buffer import EpisodeBatch, ReplayBuffer
from components.scheme import scheme_of
from components.storage import lazy_zeros, smallest_integer
from components.transforms import OneHot, Transform
from envs.fields import pymarl_spec
from utils.errors import MusterError

N, A, T = 2, 5, 6
SIZES = {"n_agents": N, "n_actions": A, "obs_shape": 3, "state_shape": 4}
# of a step, as PyMARL stores it
LAYOUT = {
    "obs": ((N, 3), np.float32),
    "state": ((4,), np.float32),
    "actions": ((N, 1), np.int64),
    "actions_onehot": ((N, A), np.float32),
    "avail_actions": ((N, A), np.int32),
    "reward": ((1,), np.float32),
    "terminated": ((1,), np.uint8),
    "truncated": ((1,), np.uint8),
    "filled": ((1,), np.int64),
}


def parts(buffer_dtype, sizes=SIZES):
    scheme, groups, preprocess = scheme_of(pymarl_spec(sizes), buffer_dtype)
    return {**scheme, "number": {"vshape": (1,), "dtype": th.long, "episode_const": True}}, groups, preprocess


def make_buffer(size, buffer_dtype="float32"):
    scheme, groups, preprocess = parts(buffer_dtype)
    return ReplayBuffer(scheme, groups, size, T, preprocess=preprocess)


def make_episode(number, steps, acts_at_the_end):
    """An episode of `steps` filled steps in PyMARL's layout; without an action, its closing step has no one-hot."""
    rng = np.random.default_rng(number)
    fields = {key: np.zeros((T, *shape), dtype=dtype) for key, (shape, dtype) in LAYOUT.items()}
    for key in ("obs", "state", "reward"):
        fields[key][:steps] = rng.normal(scale=10, size=fields[key][:steps].shape)
    fields["avail_actions"][:steps] = rng.integers(2, size=(steps, N, A))
    fields["terminated"][:steps] = rng.integers(2, size=(steps, 1))
    fields["truncated"][:steps] = rng.integers(2, size=(steps, 1))
    fields["filled"][:steps] = 1
    for t in range(steps if acts_at_the_end else steps - 1):
        for agent in range(N):
            action = int(rng.integers(A))
            fields["actions"][t, agent, 0] = action
            fields["actions_onehot"][t, agent, action] = 1
    return fields


def as_batch(episodes, length):
    """A runner's batch of `length` steps that holds {number: episode}."""
    scheme, groups, preprocess = parts("float32")
    batch = EpisodeBatch(scheme, groups, len(episodes), length, preprocess=preprocess)
    for row, (number, fields) in enumerate(episodes.items()):
        batch["number"][row] = number
        for key, values in fields.items():
            batch[key][row] = th.as_tensor(values[:length])
    return batch


def assert_holds(batch, numbers, model, length, half):
    """`batch` holds these episodes of `model`, cut to `length`, in the types of PyMARL's layout."""
    assert set(batch.scheme) == {*LAYOUT, "number"}
    for key, (shape, dtype) in LAYOUT.items():
        found = batch[key].numpy()
        assert found.dtype == dtype, key
        assert found.shape == (len(numbers), length, *shape), key
        expected = np.stack([model[number][key][:length] for number in numbers])
        if half and key in ("obs", "state"):
            # 11 significant bits, and below the smallest normal number, multiples of 2**-24
            assert (np.abs(found - expected) <= 2.0**-11 * np.abs(expected) + 2.0**-25).all(), key
        else:
            np.testing.assert_array_equal(found, expected, err_msg=key)


INSERTS = st.lists(
    st.tuples(st.lists(st.integers(1, T), min_size=1, max_size=6), st.booleans(), st.booleans()), min_size=1, max_size=6
)


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


def test_fields_by_name_have_the_types_of_the_scheme():
    buffer, episode = make_buffer(2, "float16"), make_episode(1, 4, False)
    buffer.insert_episode_batch(as_batch({1: episode}, T))
    for key, (_, dtype) in LAYOUT.items():
        assert buffer[key].numpy().dtype == dtype
        np.testing.assert_allclose(buffer[key][0].numpy(), episode[key], rtol=1e-3, atol=1e-6, err_msg=key)
    part = buffer["actions_onehot", "obs"]
    assert part["actions_onehot"].sum() == 3 * N
    assert part["obs"].dtype == th.float32


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
    assert buffer["actions_onehot"].sum() == 3 * N
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


def test_fields_that_a_buffer_lacks_are_refused():
    batch = as_batch({1: make_episode(1, 5, True)}, T)
    batch.data.transition_data["messages"] = th.zeros(1, T, 1)
    with pytest.raises(KeyError, match="messages not found"):
        make_buffer(1).insert_episode_batch(batch)


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


def test_a_derived_field_with_other_values_is_refused():
    batch = as_batch({1: make_episode(1, 3, True)}, T)
    batch["actions_onehot"][0, 1] = 1 / A
    with pytest.raises(ValueError, match="'actions_onehot' differs from the values derived from 'actions'"):
        make_buffer(1).insert_episode_batch(batch)


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("obs", 70000.0, r"'obs' holds values from .* to 70000\..*float16, from -65504 to 65504.*buffer_dtype=float32"),
        ("state", -float("inf"), "'state' holds values from -inf"),
        ("avail_actions", -1, "'avail_actions' holds values from -1 to .*uint8, from 0 to 255.*storage in the scheme"),
        ("avail_actions", 256, "to 256"),
    ],
)
def test_values_that_do_not_fit_are_refused(key, value, message):
    batch = as_batch({1: make_episode(1, 3, True)}, T)
    batch[key][0, 1, 0] = value
    with pytest.raises(MusterError, match=message):
        make_buffer(1, "float16").insert_episode_batch(batch)


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


@pytest.mark.parametrize(("dtype", "storage"), [(th.float32, th.uint8), (th.long, th.float16), (th.int, th.bool)])
def test_types_that_cannot_stand_for_each_other(dtype, storage):
    with pytest.raises(ValueError, match=r"'x' is torch\.\w+ and cannot be stored as"):
        ReplayBuffer({"x": {"vshape": 1, "dtype": dtype, "storage": storage}}, {}, 1, 1)


@pytest.mark.parametrize(
    ("count", "dtype"), [(1, th.uint8), (256, th.uint8), (257, th.int16), (32768, th.int16), (32769, th.int32)]
)
def test_the_smallest_integer(count, dtype):
    assert smallest_integer(count) == dtype


@pytest.mark.parametrize("shape", [(0, 3), (2, 3), ()])
@pytest.mark.parametrize("dtype", [th.float16, th.bfloat16, th.bool, th.int64])
def test_lazy_zeros_are_zeros(shape, dtype):
    zeros = lazy_zeros(shape, dtype, "cpu")
    assert zeros.dtype == dtype
    assert th.equal(zeros, th.zeros(shape, dtype=dtype))
    zeros.fill_(1)
    assert (zeros == 1).all()


def test_27m_vs_30m_takes_less_than_half_of_pymarls():
    """36.6 GiB are 5000 episodes in PyMARL's layout: 181 steps of 43,465 bytes."""
    sizes = {"n_agents": 27, "n_actions": 36, "obs_shape": 285, "state_shape": 1170}
    scheme, groups, preprocess = scheme_of(pymarl_spec(sizes), "float16")
    buffer = ReplayBuffer(scheme, groups, 2, 181, preprocess=preprocess, device="meta")
    tensors = (*buffer.data.transition_data.values(), *buffer.data.episode_data.values())
    counted = sum(tensor.numel() * tensor.element_size() for tensor in tensors)
    assert buffer.nbytes == counted
    assert counted / 2 < 181 * 43465 / 2
    # obs and state of 2 bytes, a byte for each legality, action and one-hot, and 7 for the rest
    assert counted == 2 * 181 * (2 * (27 * 285 + 1170) + 27 * (36 + 1 + 1) + 7)


class Traffic(TorchDispatchMode):
    """Counts the elements of every tensor that is made or written, views apart."""

    def __init__(self, *batches):
        super().__init__()
        tensors = [tensor for batch in batches for tensor in batch.data.transition_data.values()]
        self.known = {tensor.untyped_storage().data_ptr() for tensor in tensors}
        self.most = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        for tensor in result if isinstance(result, tuple | list) else [result]:
            if isinstance(tensor, th.Tensor):
                view = tensor.untyped_storage().data_ptr() in self.known and not func._schema.is_mutable
                self.most = max(self.most, 0 if view else tensor.numel())
        return result


def test_only_inserted_or_sampled_episodes_are_touched():
    """However large the buffer is, no operation makes or writes more than the largest field of these episodes."""
    buffer = make_buffer(500, "float16")
    episodes = {number: make_episode(number, 3, True) for number in range(8)}
    buffer.insert_episode_batch(as_batch(episodes, T))
    batch = as_batch({9: make_episode(9, 3, True)}, T)
    with Traffic(buffer, batch) as traffic:
        buffer.insert_episode_batch(batch)
    # three steps, and the marks of all six
    assert 0 < traffic.most <= 3 * N * A
    with Traffic(buffer) as traffic:
        buffer.sample(2, trimmed=True)
    assert 0 < traffic.most <= 2 * 3 * N * A
    with Traffic(buffer) as traffic:
        buffer["obs"]
    assert traffic.most == 500 * T * N * 3  # such a copy would be seen


GROWTH = """
import os, sys
sys.path[:0] = {path!r}
import torch as th
from components.episode_buffer import EpisodeBatch, ReplayBuffer
def resident():
    return int(open("/proc/self/statm").read().split()[1]) * os.sysconf("SC_PAGESIZE") / 2**20
scheme = {{"obs": {{"vshape": (128,), "group": "agents", "storage": th.float16}}}}
groups, steps = {{"agents": 16}}, 256  # 1 MiB an episode as float16
batch = EpisodeBatch(scheme, groups, 1, steps)
def insert(count, length):
    batch["filled"].zero_()
    batch.update({{"obs": th.ones(1, length, 16, 128)}}, ts=slice(0, length))
    for _ in range(count):
        buffer.insert_episode_batch(batch)
    return resident()
buffer = ReplayBuffer(scheme, groups, 1, steps)
insert(1, steps)
start = resident()
buffer = ReplayBuffer(scheme, groups, 400, steps)
figures = [start, resident(), insert(40, 64), insert(40, 64), insert(40, 256)]
buffer.sample(8)
print(*figures, resident())
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_memory_is_taken_as_episodes_arrive():
    program = GROWTH.format(path=[str(Path(__file__).resolve().parents[3] / "src")])
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    start, built, quarter, half, long, sampled = map(float, done.stdout.split())
    # MiB: nothing at first, a quarter for each of 40 episodes of a quarter of the limit, twice, then all of 40
    assert built - start < 2
    assert quarter - built == pytest.approx(10, abs=3)
    assert half - quarter == pytest.approx(10, abs=3)
    assert long - half == pytest.approx(40, abs=5)
    # a sample of eight whole episodes is 16 MiB of float32 and may stay with the allocator, with its rows as float16
    assert sampled - long < 30
