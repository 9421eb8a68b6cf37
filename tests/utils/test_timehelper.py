"""Durations in words, and how long a run will take."""

from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from utils.timehelper import time_left, time_str, time_to_go

SECONDS = {"day": 86400, "hour": 3600, "minute": 60, "second": 1}


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0, "0 seconds"),
        (86400 + 60, "1 day, 1 minute, 0 seconds"),
        (2 * 86400 + 23 * 3600 + 59 * 60 + 59, "2 days, 23 hours, 59 minutes, 59 seconds"),
    ],
)
def test_durations(seconds, words):
    assert time_str(seconds) == words


@given(st.floats(0, 10**8))
def test_words_add_up_to_the_seconds(seconds):
    parts = [part.split() for part in time_str(seconds).split(", ")]
    assert sum(int(number) * SECONDS[unit.removesuffix("s")] for number, unit in parts) == int(seconds)
    assert all(
        int(number) < {"hour": 24, "minute": 60, "second": 60}.get(unit.removesuffix("s"), 10**9)
        for number, unit in parts
    )


@pytest.mark.parametrize(
    ("t_start", "t_current", "t_max", "words"),
    [
        (100, 400, 1000, "2 minutes, 0 seconds"),
        (0, 30, 45, "30 seconds"),
        (-2001, 60, 120, "1 minute, 0 seconds"),  # PyMARL's loop starts its counters below zero
        (100, 100, 160, "1 hour, 0 seconds"),  # no step yet counts as one
        (0, 1, 10**12, "100 days, 0 seconds"),
        (0, 100, 100, "-"),
        (0, 105, 100, "-"),
    ],
)
def test_time_left_goes_by_the_steps_since_the_start(monkeypatch, t_start, t_current, t_max, words):
    """A minute has passed since the start; code written for PyMARL gives the time of day at which it began."""
    assert time_to_go(60.0, t_start, t_current, t_max) == words
    monkeypatch.setattr("utils.timehelper.time", SimpleNamespace(time=lambda: 1060.0))
    assert time_left(1000.0, t_start, t_current, t_max) == words
