"""The bar's time does not jump with the time of day."""

import io
import itertools
import sys
from types import SimpleNamespace

from records.progress import ProgressBar


def test_the_bar_goes_by_a_clock_that_does_not_jump(monkeypatch):
    """Ten seconds for 50 of 150 steps, while the time of day leaps forth and back by hours."""
    seconds, day = [100.0], itertools.cycle([0.0, 90_000.0])
    monkeypatch.setattr("records.progress.time", SimpleNamespace(monotonic=lambda: seconds[0]))
    monkeypatch.setattr("tqdm.std.time", lambda: next(day))
    screen = io.StringIO()
    monkeypatch.setattr(sys, "__stderr__", screen)
    bar = ProgressBar(150)
    seconds[0] += 10
    bar.show(50, {"return_mean": 1.5})
    drawn = screen.getvalue().rsplit("\r", 1)[-1]
    assert "50.0/150" in drawn
    assert "00:10<00:20" in drawn
    assert "5.00steps/s" in drawn
    bar.close()
