"""Pinned memory: what a GPU has fetched is what was sent, though the buffers are filled again meanwhile."""

import numpy as np
import pytest
import torch as th

from components import one_copy
from components.one_copy import LEAST_PINNED, MOST_PINNED, PinnedMemory, sent

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
