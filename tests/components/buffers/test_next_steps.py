"""The short way into the ring of transitions beside the long way: the same content, bit for bit."""

import copy

import numpy as np
import pytest
import torch as th
from hypothesis import given, settings
from hypothesis import strategies as st

from components.buffers.next_steps import equal
from components.buffers.transitions import TransitionReplay
from components.episode_batch import EpisodeBatch
from components.record_batch import RecordBatch
from components.scheme import scheme_of
from components.step_records import step_layout
from components.storage import narrowed
from envs.contract.fields import pymarl_spec
from fakes import RecordingLogger
from helpers import make_args
from numbered_play import GROUPS, PREPROCESS, ROLLOUT_SCHEME, SIZES, NumberedPlay
from utils.errors import MusterError

HALF = scheme_of(pymarl_spec(SIZES), "float16")[0] | {"hidden_before": ROLLOUT_SCHEME["hidden_before"]}


DERIVED = {"filled", *(new for new, _ in PREPROCESS.values())}


def new_buffer(rows, capacity, scheme=ROLLOUT_SCHEME, **changes):
    sizes = {"batch_size": 4, "buffer_size": capacity, "batch_size_run": rows, **changes}
    return TransitionReplay(scheme, GROUPS, 2, PREPROCESS, make_args(**sizes), RecordingLogger())


def slow_and_fast(rows, capacity, **changes):
    slow, fast = (new_buffer(rows, capacity, **changes) for _ in range(2))
    slow.ring.insert_next = lambda batch, source: -1
    taken, short_way = [], fast.ring.insert_next

    def insert_next(batch, source):
        taken.append(short_way(batch, source))
        return taken[-1]

    fast.ring.insert_next = insert_next
    return slow, fast, taken


def endless_play(rows):
    """Play in which no episode ends."""
    play = NumberedPlay(rows, np.random.default_rng(0), longest=1)
    for row in range(rows):
        play.present[row][1] = 10**6
    return play


def as_records(batch):
    """The batch as runners bring it for a buffer of transitions."""
    scheme = {key: info for key, info in batch.scheme.items() if key not in DERIVED}
    made = RecordBatch(
        step_layout(scheme, GROUPS, PREPROCESS), scheme, GROUPS, batch.batch_size, batch.max_seq_length, PREPROCESS
    )
    for key, values in batch.data.transition_data.items():
        made[key].copy_(values)
    return made


def content(buffer):
    """Everything that the buffer keeps, as bytes."""
    ring, tree = buffer.ring, buffer._tree
    arrays = [x.numpy() for x in ring.data.values()] + [ring.ahead, buffer.kinds]
    arrays += [] if tree is None else tree._levels
    queues = [queue[np.arange(len(queue))] for queue in (buffer.learned, buffer.held_out)]
    waiting = {source: numbers.tolist() for source, numbers in ring.waiting.all().items()}
    return (
        [x.tobytes() for x in (*arrays, *queues)],
        waiting,
        ring.stop,
        {source: held.tolist() for source, held in buffer._row_held_out.items()},
    )


SETTINGS = (
    {},
    {"scheme": HALF},
    {"priority_alpha": 0.6},
    {"hold_out": 0.3},
    {"priority_alpha": 0.6, "hold_out": 0.3, "hold_out_redraw": 0.2},
)


@pytest.mark.slow
@settings(deadline=None, max_examples=40)
@given(st.integers(0, 2**32 - 1), st.integers(1, 4), st.integers(0, 40), st.sampled_from(SETTINGS), st.booleans())
def test_both_ways_keep_the_same(seed, rows, more, changes, lossy):
    """Of two sources, with episodes that end or are lost, rollouts of several steps between, and a ring that wraps."""
    rng = np.random.default_rng(seed)
    slow, fast, _ = slow_and_fast(rows, 6 * rows + more, **changes)
    plays = [
        NumberedPlay(rows, np.random.default_rng([seed, k]), longest=12, lossy=lossy, count=1000 * k) for k in (0, 1)
    ]
    for _ in range(30):
        source, steps = int(rng.random() < 0.2), 1 + 2 * (rng.random() < 0.3)
        batch, draws = plays[source].rollout(steps), int(rng.integers(2**32))
        added = []
        laid_out = as_records(batch) if rng.random() < 0.7 else batch
        for buffer, brought in ((slow, batch), (fast, laid_out)):
            np.random.seed(draws)
            added.append(buffer.insert(brought, source))
        assert added[0] == added[1]
        assert content(slow) == content(fast)
        if "priority_alpha" in changes:
            ids = th.from_numpy(slow.learned[np.arange(len(slow.learned))])
            for buffer in (slow, fast):
                buffer.update_priorities(ids, ids * 0.37 + 0.1)


@pytest.mark.parametrize("records", [False, True])
@pytest.mark.parametrize("changes", [{}, {"priority_alpha": 0.6}])
@pytest.mark.parametrize("steps", [1, 4])
@pytest.mark.parametrize("rows", [1, 3])
def test_steps_within_episodes_take_the_short_way(rows, steps, changes, records):
    slow, fast, taken = slow_and_fast(rows, 60, **changes)
    play = endless_play(rows)
    for _ in range(100):
        batch = play.rollout(steps)
        assert slow.insert(batch) == fast.insert(as_records(batch) if records else batch) == rows * steps
    assert content(slow) == content(fast)
    # all but the first, and those that would go around the end of the ring
    assert taken.count(-1) == 1 + (100 * rows * steps // 60 if steps > 1 else 0)


@pytest.mark.parametrize("records", [False, True])
def test_the_number_of_steps_may_change(records):
    slow, fast, taken = slow_and_fast(2, 60)
    play = endless_play(2)
    for steps in (1, 1, 3, 3, 1, 2):
        batch = play.rollout(steps)
        assert slow.insert(batch) == fast.insert(as_records(batch) if records else batch) == 2 * steps
    assert content(slow) == content(fast)
    assert taken.count(-1) == 1  # the first


@pytest.mark.parametrize("steps", [1, 3])
def test_steps_are_announced_before_they_are_overwritten(steps):
    """A checkpoint that is being written waits for this, and then reads what is still there."""
    slow, fast, taken = slow_and_fast(2, 20)
    play, called = endless_play(2), {slow: [], fast: []}
    for number in range(12):
        batch = play.rollout(steps)
        for buffer, calls in called.items():
            held = content(buffer)
            buffer.journal.before_overwrite(
                lambda kept, calls=calls, buffer=buffer, held=held: calls.append((kept, content(buffer)[0] == held[0]))
            )
            buffer.insert(batch)
            assert calls[-1][0] == buffer.ring.stop - buffer.ring.capacity
            assert len(calls) == number + 1
    assert taken.count(-1) < 12 / 2 and all(unchanged for calls in called.values() for _, unchanged in calls)


def test_a_buffer_that_loads_forgets_what_it_waited_for():
    slow, fast, _ = slow_and_fast(1, 60)
    play = endless_play(1)
    begun = [play.rollout(1) for _ in range(4)]
    for buffer in (slow, fast):
        buffer.insert(begun[0])
    state, ring = slow.state_dict(), fast.ring
    for batch in begun[1:]:
        fast.insert(batch)
    fast.load_state_dict(state)
    later = play.rollout(1)  # continues what was forgotten
    assert fast.insert(later) == slow.insert(later) == 1
    assert (ring.stop, ring.ahead[:4].tolist()) == (slow.ring.stop, slow.ring.ahead[:4].tolist()) == (4, [1, 0, 1, 0])


@pytest.mark.parametrize("records", [False, True])
def test_a_frame_that_differs_or_a_void_one_does_not_continue(records):
    for change in ("obs", "state", "filled"):
        slow, fast, taken = slow_and_fast(2, 60)
        play = endless_play(2)
        for number in range(4):
            batch = play.rollout(1)
            if number == 2:
                batch[change][1, 0] = 0
            slow.insert(batch)
            fast.insert(as_records(batch) if records else batch)
        assert content(slow) == content(fast)
        assert [number >= 0 for number in taken] == [False, True, False, True] or change == "filled"


@pytest.mark.parametrize("records", [False, True])
def test_a_frame_of_other_bytes_that_shows_the_same_continues(records):
    slow, fast, taken = slow_and_fast(2, 60)
    play = endless_play(2)
    for number in range(4):
        batch = play.rollout(1)
        batch["obs"][:, :, 0, 0] = np.nan
        batch["obs"][:, :, 1, 1] = (0.0, -0.0)[number % 2]
        slow.insert(batch)
        fast.insert(as_records(batch) if records else batch)
    assert content(slow) == content(fast)
    assert [number >= 0 for number in taken] == [False, True, True, True]


def test_a_tensor_that_somebody_gave_the_batch_counts():
    slow, fast, taken = slow_and_fast(2, 60)
    play = endless_play(2)
    for number in range(4):
        batch = play.rollout(1)
        laid_out = as_records(batch)
        if number == 2:
            batch["reward"][:] = 7
            laid_out.data.transition_data["reward"] = th.full((2, 2, 1), 7.0)
        slow.insert(batch)
        fast.insert(laid_out)
    assert content(slow) == content(fast)
    assert taken.count(-1) == 1


def test_nan_and_zeros_of_either_sign_are_the_same_frame():
    now, then = np.array([np.nan, 0.0, 1.0]), np.array([np.nan, -0.0, 1.0])
    assert equal(now, then).tolist() == [True, True, True]


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


def test_arrays_of_a_batch_are_on_its_tensors_memory():
    batch = EpisodeBatch(ROLLOUT_SCHEME, GROUPS, 1, 2, preprocess=PREPROCESS)
    (array,) = batch.arrays(["reward"])
    batch["reward"][0, 1] = 3
    assert array[0, 1, 0] == 3 and batch.arrays(["reward"])[0] is array
    copied = copy.deepcopy(batch)
    copied.arrays(["reward"])[0][0, 0] = 5
    assert (copied["reward"][0, 0].item(), batch["reward"][0, 0].item()) == (5, 0)
    batch.data.transition_data["reward"] = th.ones(1, 2, 1)
    assert batch.arrays(["reward"])[0].tolist() == [[[1], [1]]]
