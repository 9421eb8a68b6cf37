"""How far a running run is, and how long it still takes."""

from datetime import UTC, datetime

import numpy as np
import pytest

pytest.importorskip("dash", reason="the run browser's packages are not installed")

from browser.page.parts.context import Context
from browser.page.parts.progress import progress_of
from browser.page.run import view as view
from browser.page.runs.columns import Column
from browser.page.runs.rows import run_row
from browser.reading import Curve, Results, Run
from browser.reading.session import Session
from browser_folders import alive, write_log, write_run
from utils.timehelper import about


def running(t_max, status="RUNNING"):
    now = datetime.now(UTC)
    return Run((Session("1", status=status, config={"t_max": t_max}, started=now, heartbeat=now),))


def curve(steps, seconds):
    return Curve("loss", np.array(steps), np.zeros(len(steps)), seconds=np.array(seconds, float))


def test_the_speed_of_late_counts():
    steps = [0, 100, 200, 300, 400]
    progress = progress_of(running(1000), 400, [curve(steps, [0, 1, 2, 3, 13])])
    assert progress.share == 0.4 and progress.left == pytest.approx(600 / 10)
    assert str(progress) == "40 % · 60 s left"
    older = curve([0, 10], [0, 1])
    assert progress_of(running(1000), 400, [older, curve(steps, [0, 1, 2, 3, 13])]) == progress


@pytest.mark.parametrize("t_max", [None, "x", True, 0, -5, float("inf"), float("nan")])
def test_no_progress_without_an_end(t_max):
    assert progress_of(running(t_max), 400, []) is None


def test_unknown_progress():
    assert str(progress_of(running(1000), 2000, [])) == "100 %"
    assert progress_of(running(1000), None, []) is None and progress_of(running(1000, "COMPLETED"), 5, []) is None
    assert progress_of(running(1000), 5, [curve([0, 5], [3, 3]), curve([0], [1])]).left is None


def test_times_in_words():
    assert [about(s) for s in (0, 89, 91, 3600, 7200, 10**6)] == ["0 s", "89 s", "2 min", "60 min", "2 h", "12 d"]


def test_a_live_run_shows_it_in_its_row_and_its_view(tmp_path):
    write_run(tmp_path, 1, config={"t_max": 1000}, status="RUNNING", started=alive(), info={"unique_token": "a"})
    write_log(tmp_path, "a", [(t, t, t / 10, "test_return_mean", 1.0) for t in range(0, 500, 50)])
    context = Context(Results(tmp_path, cache=None))
    (run,) = context.runs()
    assert run_row(context, run, [Column("last", "test_return_mean")])["progress"] == "45 % · 55 s left"
    assert "45 % · 55 s left (t_max = 1,000)" in str(view.layout(context, {"run": "1"}).to_plotly_json())
