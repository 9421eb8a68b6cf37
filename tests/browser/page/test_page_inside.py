"""A run from inside: the card in its view."""

import pytest

from browser.comparison import Comparison
from browser.figures.inside import bin_title, histogram_map, monitored_curve, time_flame
from browser.page.run import view as view
from browser.page.run.inside import draw, follows
from browser.page.run.request import RunRequest
from browser.reading import Results
from page_views import context_of, text_of
from records.diagnosis import diagnosed
from results_folders import write_log, write_run

ROWS = [
    (10, "time/train", 3.0), (10, "calls/train", 5), (10, "longest/train", 0.7),
    (10, "time/train/update", 2.0), (10, "calls/train/update", 4), (10, "longest/train/update", 0.5),
    (10, "time/test", 1.0), (10, "calls/test", 1), (10, "longest/test", 1.0),
    (10, "machine/run_memory_mb", 300.0), (20, "machine/run_memory_mb", 310.0),
    *((t, f"monitor/advantage/{what}", value) for t in (10, 20)
      for what, value in (("count", 2), ("mean", t), ("std", 1.0), ("min", t - 1), ("max", t + 1))),
]  # fmt: skip


@pytest.fixture
def root(tmp_path):
    panel = {"parameter_file": "mine.py", "cpanel": {"lr": 0.25}, "message": "why not"}
    write_run(tmp_path, 1, info={"unique_token": "t"}, config=panel)
    write_run(tmp_path, 2, info={"unique_token": "other"})
    write_log(tmp_path, "t", [(0, 0, 5, "test_return_mean", 1.0), (20, 4, 40, "test_return_mean", 2.0)])
    write_log(tmp_path, "t", [(0, 0, 5, "test_return_mean", 1.0)])
    write_diagnostics(tmp_path, ROWS)
    return tmp_path


def write_diagnostics(root, rows):
    lines = ["t_env,episode,seconds,key,value", *(f"{t},{t},1.0,{key},{value}" for t, key, value in rows)]
    (root / "runs" / "t" / "diagnostics.csv").write_text("\n".join(lines) + "\n")


def test_a_run_shows_its_time_values_and_machine(root):
    text = text_of(view.layout(context_of(root), {"run": "1"}))
    parts = ("'Inside'", "inside-flame", "advantage", "run_memory_mb", "inside-curve-1", "Control panel", "why not")
    for part in parts:
        assert part in text, part
    assert "inside-flame" not in text_of(view.layout(context_of(root), {"run": "2"}))


def test_the_flame_has_a_bar_for_each_path(root):
    found = diagnosed(context_of(root).results.diagnostics("1"))
    (bars,) = time_flame(found.times).data
    assert list(bars.ids) == ["all", "test", "train", "train/update"]
    assert list(bars.parents) == ["", "all", "all", "train"]
    assert list(bars.values) == [4.0, 1.0, 3.0, 2.0]
    assert list(bars.customdata[3]) == ["train/update", 4, 500.0, 500.0]


def test_curves_of_values_have_two_deviations_around_them(root):
    rows = context_of(root).results.diagnostics("1")
    area, line = monitored_curve(rows["monitor/advantage/mean"], rows["monitor/advantage/std"]).data
    assert list(line.y) == [10, 20]
    assert list(area.y) == [12, 22, 18, 8]
    assert len(monitored_curve(rows["machine/run_memory_mb"], None).data) == 1


def test_the_card_follows_the_file(root):
    context = context_of(root)
    asked = RunRequest(context, context.run("1"))
    before = follows(asked)
    assert follows(asked) == before
    write_diagnostics(root, [*ROWS, (30, "time/test", 2.0)])
    assert follows(asked) != before and "inside-flame" in text_of(draw(asked))


@pytest.mark.parametrize(
    "content", [b"", b"nonsense", b"\xff\x00" * 50, b"t_env,episode,seconds,key,value\n1,2,x,y,z\n"]
)
def test_files_of_others_are_no_error(root, content):
    (root / "runs" / "t" / "diagnostics.csv").write_bytes(content)
    context = context_of(root)
    assert "inside-flame" not in text_of(draw(RunRequest(context, context.run("1"))))


def test_curves_over_updates(root):
    write_log(root, "t", [(t, t // 10, t / 10, "test_return_mean", t) for t in (0, 10, 20)])
    write_diagnostics(root, [(0, "updates", 0), (20, "updates", 60)])
    results = context_of(root).results
    assert results.curves("1")["test_return_mean"].over("updates").tolist() == [0, 30, 60]
    write_log(root, "other", [(0, 0, 0.0, "test_return_mean", 1.0)])
    assert results.curves("2")["test_return_mean"].over("updates") is None


def test_runs_are_compared_over_updates_and_smoothed(tmp_path):
    for run_id, factor in ((1, 1), (2, 3)):
        write_run(tmp_path, run_id, config={"seed": run_id}, info={"unique_token": f"t{run_id}"})
        write_log(tmp_path, f"t{run_id}", [(t, t, t, "test_return_mean", factor * (t % 20)) for t in range(0, 50, 10)])
        lines = ["t_env,episode,seconds,key,value", "0,0,0,updates,0", f"40,40,40,updates,{100 * factor}"]
        (tmp_path / "runs" / f"t{run_id}" / "diagnostics.csv").write_text("\n".join(lines) + "\n")
    results = Results(tmp_path, cache=None)
    (band,) = Comparison(results, results.runs()).bands("test_return_mean", axis="updates", smoothing=3)
    assert (band.x[0], band.x[-1], band.axis, band.runs) == (0, 300, "updates", 2)
    # the mean of three values of 0, f 10, 0, f 10, 0 at the ends, where two are: 5 and 15
    assert band.center[0] == 10
    assert band.center[-1] == 15, "only the second run made so many updates"


def test_histograms_are_maps_of_sizes_over_steps(root):
    counts = [
        (10, "histogram/weights/fc/10", 3),
        (20, "histogram/weights/fc/10", 1),
        (20, "histogram/weights/fc/12", 3),
    ]
    write_diagnostics(root, [*ROWS, *counts, (20, "histogram/odd/x", 1), (20, "histogram/odd/999", 1)])
    (found,) = diagnosed(context_of(root).results.diagnostics("1")).histograms
    assert (found.name, found.steps.tolist()) == ("weights/fc", [10, 20])
    (cells,) = histogram_map(found).data
    assert list(cells.y) == ["-1e-06 to 1e-06", "1e-06 to 1e-05", "1e-05 to 0.0001"]
    assert (
        cells.z[0].tolist() == [1.0, 0.25] and cells.z[2].tolist()[1] == 0.75 and cells.customdata[2].tolist() == [0, 3]
    )
    assert (bin_title(0), bin_title(20)) == ("below -1000", "above 1000")
    text = text_of(view.layout(context_of(root), {"run": "1"}))
    assert "inside-histogram-0" in text and "inside-histogram-1" not in text
