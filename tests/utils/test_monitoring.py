"""Running statistics of any value."""

import math
import statistics

import numpy as np
import pytest
import torch as th
from hypothesis import given
from hypothesis import strategies as st

from utils.monitoring import EDGES, Monitor, RunningStatistics, histogram, monitor, monitoring

NUMBERS = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=30)


@given(NUMBERS)
def test_statistics_are_those_of_the_whole_list(numbers):
    running = RunningStatistics()
    for number in numbers:
        running.add(number)
    assert running.count == len(numbers)
    assert math.isclose(running.mean, statistics.fmean(numbers), rel_tol=1e-9, abs_tol=1e-6)
    assert math.isclose(running.std, statistics.pstdev(numbers), rel_tol=1e-6, abs_tol=1e-3)
    assert (running.least, running.greatest) == (min(numbers), max(numbers))


@pytest.fixture
def recorded():
    """A monitor that is active, and what it records: (name, count, mean)."""
    records = []
    active = Monitor(lambda name, found: records.append((name, found.count, found.mean)))
    with monitoring(active):
        yield active, records


def test_windows_are_recorded_when_they_are_full(recorded):
    active, records = recorded
    for value in range(7):
        monitor("loss", value, window=3)
        monitor("all", value)
    assert records == [("loss", 3, 1), ("loss", 3, 4)]
    active.close_windows()
    assert records[2:] == [("all", 7, 3), ("loss", 1, 6)]
    active.close_windows()
    assert len(records) == 4


def test_arrays_have_statistics_of_each_number(recorded):
    active, records = recorded
    monitor("weights", np.array([[1.0, 2.0], [3.0, 4.0]]))
    monitor("weights", th.tensor([[3.0, 2.0], [3.0, 0.0]], requires_grad=True))
    monitor("one", th.tensor(5.0))
    active.close_windows()
    expected = [("weights[0]", 2, 2), ("weights[1]", 2, 2), ("weights[2]", 2, 3), ("weights[3]", 2, 2), ("one", 1, 5)]
    assert records == expected


@pytest.mark.parametrize("value", [np.zeros(33), [], np.zeros((2, 2)), 1.0])
def test_other_shapes_are_refused(recorded, value):
    monitor("x", [1.0, 2.0])
    with pytest.raises(ValueError, match="numbers"):
        monitor("x", value)
    with pytest.raises(ValueError, match="the window is -1"):
        monitor("y", 1.0, window=-1)


def test_values_that_are_not_finite_are_counted_apart():
    running = RunningStatistics()
    for value in (1.0, math.nan, 3.0, math.inf):
        running.add(value)
    assert running.figures() == {"count": 2, "mean": 2, "std": 1, "min": 1, "max": 3, "not_finite": 2}
    assert RunningStatistics().figures() == {"count": 0}


def test_nothing_happens_outside():
    monitor("x", "not even a number", window=-3)


def test_what_waits_is_resumed(recorded):
    active, records = recorded
    for value in (1.0, 2.0):
        monitor("x", value, window=3)
    other = Monitor(lambda name, found: records.append((name, found.count, found.mean, found.std)))
    other.load_state_dict(active.state_dict())
    other.add("x", 6.0, window=3)
    assert records == [("x", 3, 3.0, pytest.approx(statistics.pstdev([1, 2, 6])))]
    with pytest.raises(ValueError):
        other.load_state_dict({"x": {"count": 1}})


def test_a_histogram_counts_numbers_by_their_size():
    kept = {}
    watched = Monitor(lambda name, statistics: None, kept.__setitem__)
    with monitoring(watched):
        histogram("x", np.array([0.0, 1e-9, 0.5, 0.1, -0.5, 5e3, -1e9, np.nan, np.inf]))
        histogram("x", [0.5])
    resumed = Monitor(lambda name, statistics: None, kept.__setitem__)
    resumed.load_counts_state(watched.counts_state())
    resumed.close_windows()
    bins = {tuple(np.r_[-np.inf, EDGES, np.inf][k : k + 2]): int(n) for k, n in enumerate(kept["x"]) if n}
    assert bins == {(-np.inf, -1e3): 1, (-1.0, -0.1): 1, (-1e-6, 1e-6): 2, (0.1, 1.0): 3, (1e3, np.inf): 1}
    with pytest.raises(ValueError, match="other bins"):
        resumed.load_counts_state({"x": [1]})
