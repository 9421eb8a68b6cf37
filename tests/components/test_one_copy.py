"""Several arrays in one copy: what arrives is what was sent, of every type and shape."""

import numpy as np
import pytest
import torch as th
from hypothesis import given
from hypothesis import strategies as st

from components import one_copy
from components.one_copy import moved, received, sent
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
