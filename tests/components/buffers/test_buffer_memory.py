"""The memory of a buffer: its size, its growth, and the tensors that its calls touch."""

import subprocess
import sys
from pathlib import Path

import pytest
import torch as th
from compact_episodes import A, N, T, as_batch, make_buffer, make_episode, parts
from torch.utils._python_dispatch import TorchDispatchMode

from components.episode_buffer import ReplayBuffer
from components.scheme import scheme_of
from components.storage import lazy_zeros
from envs.contract.fields import pymarl_spec
from gpu_runs import on_gpu


@pytest.mark.parametrize("shape", [(0, 3), (2, 3), ()])
@pytest.mark.parametrize("dtype", [th.float16, th.bfloat16, th.bool, th.int64])
def test_lazy_zeros_are_zeros(shape, dtype):
    zeros = lazy_zeros(shape, dtype, "cpu")
    assert zeros.dtype == dtype
    assert th.equal(zeros, th.zeros(shape, dtype=dtype))
    zeros.fill_(1)
    assert (zeros == 1).all()


def test_episodes_are_kept_in_files_and_come_back_alike(tmp_path, monkeypatch):
    in_memory, (scheme, groups, preprocess) = make_buffer(size=3), parts("float32")
    monkeypatch.setattr("components.storage.lazy_zeros", lambda *_: pytest.fail("memory was taken"))
    in_files = ReplayBuffer(scheme, groups, 3, T, preprocess=preprocess, device="cpu", folder=str(tmp_path))
    monkeypatch.undo()
    for number in range(4):  # one more than there is room for
        batch = as_batch({number: make_episode(number, T - number, True)}, T)
        in_memory.insert_episode_batch(batch)
        in_files.insert_episode_batch(batch)
    assert not any(tmp_path.iterdir())  # the files have no names
    for key in in_memory.scheme:
        assert th.equal(in_memory[key], in_files[key]), key


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


@pytest.mark.slow
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


@pytest.mark.slow
def test_episodes_over_longer_ones_are_sampled_at_their_own_length():
    """A buffer on a GPU knows in main memory where it is filled."""
    assert on_gpu(lengths_of_samples, "cuda") == lengths_of_samples("cpu") == [6, 3]


@pytest.mark.slow
def test_programs_branch_by_samples_of_a_buffer_on_a_gpu_without_waiting():
    """Samples come with what main memory knows of them, also where shorter episodes overwrote longer ones."""
    waits, same = on_gpu(courses_of_samples)
    assert waits == 0
    assert same


def courses_of_samples():
    import pretend_gpu

    buffer, same = make_buffer(4, device="cuda"), []
    for steps in (6, 3, 5):
        for number in range(3):
            episode = make_episode(number, max(1, steps - number), number != 1)
            buffer.insert_episode_batch(as_batch({number: episode}, T))
        buffer.sample(2, trimmed=True)  # from here on, main memory knows
        pretend_gpu.counts.clear()
        sample = buffer.sample(3, trimmed=True)
        course = sample.course()
        waits = pretend_gpu.counts.waits()
        same += [course[key].equal(sample[key].cpu()) for key in course.scheme]
        same += [set(course.scheme) == {"filled", "terminated", "truncated"} and not course["filled"].is_cuda]
    return waits, all(same)


def lengths_of_samples(device):
    buffer, lengths = make_buffer(2, device=device), []
    for steps in (6, 3):
        buffer.insert_episode_batch(as_batch({number: make_episode(number, steps, False) for number in (1, 2)}, T))
        lengths.append(buffer.sample(2, trimmed=True).max_seq_length)
    return lengths
