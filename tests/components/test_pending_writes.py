"""Writes that wait for one copy to a GPU; the CPU stands for it."""

import numpy as np
import pytest
import torch as th

from components import pending_writes
from components.pending_writes import PendingWrites


@pytest.fixture
def pending(monkeypatch):
    one = PendingWrites("cpu")
    one.wait, one.copied = True, []

    def sent(arrays, dtypes, device):
        one.copied.append(len(arrays))
        return [th.as_tensor(array).to(dtype) for array, dtype in zip(arrays, dtypes, strict=True)]

    monkeypatch.setattr(pending_writes, "sent", sent)
    return one


def test_they_are_carried_out_in_their_order_with_one_copy(pending):
    done, values = [], np.arange(3)
    pending.add(lambda there: done.append(("first", there[0].tolist())), [values], [th.int64])
    pending.add(lambda there: done.append(("second", there)))
    pending.add(lambda there: done.append(("third", there[0].tolist())), [values[None]], [th.float32])
    assert done == []
    pending.send()
    assert done == [("first", [0, 1, 2]), ("second", []), ("third", [[0.0, 1.0, 2.0]])]
    pending.send()
    assert len(done) == 3 and pending.copied == [2]


def test_what_several_take_is_copied_once(pending):
    values, found = np.arange(6).reshape(2, 3), []
    for _ in range(2):
        pending.add(found.extend, [values[..., None]], [th.int64])
    pending.send()
    assert pending.copied == [1]
    assert found[0] is found[1] and found[0].shape == (2, 3, 1)


def test_on_the_cpu_none_waits():
    done = []
    PendingWrites("cpu").add(done.extend, [np.array([True])], [th.bool])
    assert done[0].tolist() == [True]
