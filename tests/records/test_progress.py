"""The bar on the terminal."""

import io
import re
import sys
import time

from records.progress import ProgressBar


def test_speed_and_time_left_count_this_session_only(monkeypatch):
    """A resumed run's bar began with all steps of the sessions before: 36 Msteps/s, and no time left."""
    terminal = io.StringIO()
    monkeypatch.setattr(sys, "__stderr__", terminal)
    bar = ProgressBar(2_000_000, 1_000_000)
    time.sleep(0.2)
    bar.show(1_000_100, {})
    bar.close()
    *_, last = [line for line in terminal.getvalue().split("\r") if "steps/s" in line]
    speed, unit = re.search(r"([\d.]+)(k|M|)steps/s", last).groups()
    assert "50%" in last
    assert unit == "" and 100 < float(speed) <= 500
    assert not re.search(r"<00:\d\d,", last)
