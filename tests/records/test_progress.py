"""The bar on the terminal."""

import io
import itertools
import sys
from types import SimpleNamespace

from records.progress import ProgressBar


def test_speed_and_time_left_are_of_this_session_by_a_clock_that_does_not_jump(monkeypatch):
    """Ten seconds for 50 steps after 100 of earlier sessions, while the time of day leaps forth and back by hours."""
    seconds, day = [100.0], itertools.cycle([0.0, 90_000.0])
    monkeypatch.setattr("records.progress.time", SimpleNamespace(monotonic=lambda: seconds[0]))
    monkeypatch.setattr("tqdm.std.time", lambda: next(day))
    screen = io.StringIO()
    monkeypatch.setattr(sys, "__stderr__", screen)
    bar = ProgressBar(250, 100)
    seconds[0] += 10
    bar.show(150, {"return_mean": 1.5})
    drawn = screen.getvalue().rsplit("\r", 1)[-1]
    assert "150/250" in drawn and "60%" in drawn
    assert "00:10<00:20" in drawn
    assert "5.00steps/s" in drawn
    bar.close()
