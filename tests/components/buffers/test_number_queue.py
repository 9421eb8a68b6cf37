"""The queue of numbers beside a sorted list."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from components.buffers.number_queue import NumberQueue


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 2**32 - 1), st.integers(4, 40))
def test_a_queue_is_a_sorted_list_without_its_beginning(seed, capacity):
    """Numbers come, some of them late; the smallest leave, and the capacity changes."""
    rng, queue, held, newest = np.random.default_rng(seed), NumberQueue(capacity), [], 0
    late: list[int] = []
    for _ in range(80):
        what = rng.random()
        if what < 0.6:
            count = int(rng.integers(1, 4))
            numbers = list(range(newest, newest + count))
            newest += count + int(rng.random() < 0.2)
        elif what < 0.7:
            late.append(newest)
            newest += 1
            continue
        elif what < 0.8 and late:
            numbers, late = late[:2], late[2:]
        elif what < 0.85:
            capacity = int(rng.integers(4, 40))
            limit = max(0, newest - capacity)
            queue.resize(capacity, limit)
            held = [number for number in held if number >= limit]
            numbers = []
        else:
            numbers = []
        # as the ring does it: room is made first
        limit = max(0, max([newest, *numbers]) - capacity + 1)
        gone = [number for number in held if number < limit]
        queue.drop_below(limit, len(gone) + int(rng.integers(0, 3)))
        numbers = [number for number in numbers if number >= limit]
        held = sorted({*held, *numbers} - {*gone})
        queue.append(np.array(numbers, dtype=np.int64))
        assert len(queue) == len(held)
        assert queue[np.arange(len(queue))].tolist() == held
