"""Several arrays in one copy: what arrives, and what a GPU has fetched, is what was sent."""

import numpy as np
import pytest
import torch as th
from hypothesis import given
from hypothesis import strategies as st

from components import one_copy
from components.one_copy import LEAST_PINNED, MOST_PINNED, PinnedMemory, moved, received, sent
from gpu_runs import on_gpu

TYPES = [th.bool, th.uint8, th.int32, th.int64, th.float16, th.bfloat16, th.float32, th.float64]


@given(st.lists(st.tuples(st.sampled_from(TYPES), st.lists(st.integers(0, 3), max_size=3)), max_size=6))
def test_arrays_arrive_in_the_types_that_are_asked_for(fields):
    arrays = [np.arange(np.prod(shape, dtype=int)).reshape(shape) % 2 * 1.0 for _, shape in fields]
    tensors = sent(arrays, [dtype for dtype, _ in fields], "cpu")
    for tensor, array, (dtype, _) in zip(tensors, arrays, fields, strict=True):
        assert tensor.dtype == dtype
        np.testing.assert_array_equal(tensor.float().numpy(), array)
    for back, array in zip(one_copy._received(tensors) if tensors else [], arrays, strict=True):
        assert back.flags.aligned
        np.testing.assert_array_equal(back, array)


@pytest.mark.parametrize("cores", [1, 3])
def test_large_arrays_arrive_whole_from_any_number_of_threads(cores, monkeypatch):
    monkeypatch.setattr(one_copy, "LARGE", 64)
    monkeypatch.setattr(one_copy, "usable_cores", lambda: cores)
    arrays = [np.arange(7 * 40.0).reshape(7, 40)[:, ::2], np.arange(3), np.arange(5 * 90).reshape(5, 9, 10)]
    types = [th.float32, th.int64, th.int32]
    for tensor, array, dtype in zip(sent(arrays, types, "cpu"), arrays, types, strict=True):
        assert tensor.dtype == dtype
        np.testing.assert_array_equal(tensor.numpy(), array)


def test_tensors_of_the_cpu_are_not_copied():
    tensors = [th.ones(3), th.zeros(2, dtype=th.int64)]
    arrays = received(tensors)
    arrays[0][0] = 7
    assert tensors[0][0] == 7


@pytest.mark.slow
def test_a_gpu_gets_and_gives_all_in_one_copy():
    assert on_gpu(_there_and_back) == ((1, 1), True)


def _there_and_back():
    import pretend_gpu

    arrays = [np.arange(6.0).reshape(2, 3), np.array([True, False]), np.arange(4)]
    tensors = sent(arrays, [th.float32, th.bool, th.int64], "cuda")
    back = received([*tensors, th.ones(2)])
    same = all(map(np.array_equal, back, [*arrays, np.ones(2)]))
    counts = pretend_gpu.counts.sends(), pretend_gpu.counts.answers()
    return counts, same and all(tensor.is_cuda for tensor in tensors)


@pytest.mark.slow
def test_small_tensors_move_in_one_copy_and_large_ones_alone():
    counts, same = on_gpu(_moved_there_and_back)
    assert same
    assert counts == (2, 2)


def _moved_there_and_back():
    import pretend_gpu

    tensors = [(th.arange(3 * n).view(n, 3) % 2).to(dtype) for n, dtype in enumerate(TYPES)]
    tensors += [th.tensor(2.5), th.ones(1, 2).expand(4, 2), th.arange(4).view(2, 2).t(), th.zeros(one_copy.LARGE)]
    there = moved(tensors, "cuda")
    back = moved(there, "cpu")
    same = all(x.dtype == y.dtype and th.equal(x, y) for x, y in zip(back, tensors, strict=True))
    return (pretend_gpu.counts.sends(), pretend_gpu.counts.answers()), same and all(tensor.is_cuda for tensor in there)


def test_tensors_of_the_same_device_stay():
    tensors = [th.ones(3), th.zeros(2, dtype=th.int64)]
    assert all(x is y for x, y in zip(moved(tensors, "cpu"), tensors, strict=True))


CUDA = th.device("cuda", 0)


class _Event:
    """In the place of CUDA's: says when somebody waits for it."""

    waits = 0

    def record(self, _stream):
        pass

    def synchronize(self):
        _Event.waits += 1


@pytest.fixture
def without_a_card(monkeypatch):
    """Memory as if it were pinned, and events; nothing is fetched."""
    empty = th.empty
    monkeypatch.setattr(th, "empty", lambda *shape, pin_memory=False, **options: empty(*shape, **options))
    monkeypatch.setattr(_Event, "waits", 0)
    return PinnedMemory()


def test_each_buffer_is_filled_again_only_after_it_was_fetched(without_a_card):
    memory = without_a_card
    first, second = memory.room(LEAST_PINNED, CUDA), memory.room(LEAST_PINNED, CUDA)
    assert not np.shares_memory(first, second)
    memory._fetched = [_Event(), _Event()]
    again = memory.room(LEAST_PINNED, CUDA)
    assert np.shares_memory(again, first)
    assert _Event.waits == 1


def test_room_grows_with_what_is_sent(without_a_card):
    for size in (LEAST_PINNED, 3 * LEAST_PINNED, 2 * LEAST_PINNED):
        assert without_a_card.room(size, CUDA).shape == (size,)


@pytest.mark.parametrize("size", [LEAST_PINNED - 1, MOST_PINNED + 1])
def test_little_and_much_takes_other_memory(size, without_a_card):
    assert without_a_card.room(size, CUDA) is None


def test_other_devices_take_other_memory(without_a_card):
    assert without_a_card.room(LEAST_PINNED, th.device("cpu")) is None
    assert without_a_card.room(LEAST_PINNED, th.device("mps")) is None


def test_a_system_that_pins_nothing_is_asked_once(monkeypatch):
    asked = []

    def refused(*_, **__):
        asked.append(1)
        raise RuntimeError("cannot pin")

    memory = PinnedMemory()
    monkeypatch.setattr(one_copy.th, "empty", refused)
    assert [memory.room(LEAST_PINNED, CUDA) for _ in range(3)] == [None] * 3
    assert asked == [1]


@pytest.mark.skipif(not th.cuda.is_available(), reason="needs a GPU")
def test_what_a_gpu_fetches_is_what_was_sent():
    rng, busy = np.random.default_rng(1), th.randn(4096, 4096, device="cuda")
    arrays = [rng.random(100_000, dtype=np.float32) for _ in range(20)]
    there = []
    for array in arrays:
        for _ in range(5):
            busy = busy @ busy
        there += sent([array], [th.float32], "cuda")
    for array, tensor in zip(arrays, there, strict=True):
        np.testing.assert_array_equal(tensor.cpu().numpy(), array)
