"""The view of hyperparameters, filters in addresses, several statistics and logarithmic axes."""

import numpy as np
import pytest

from browser.figures.hyperparameters import MOST_WORDS, importance_bars, parallel_coordinates
from browser.page.compare.request import compare
from browser.page.compare.view import COMPARE
from browser.page.hyperparameters.view import HYPERPARAMETERS
from browser.page.parts import saved_views
from browser.page.parts.notes import Note, NotWrittenError
from browser.page.run.view import layout as run_view
from browser.page.runs import view as runs
from browser.page.server.app import view_of
from browser.stats.importance import Importance
from browser.sweep import MOST_KEYS
from page_views import compared, context_of, parts_of, text_of
from results_folders import write_log, write_run


@pytest.fixture
def context(tmp_path):
    """Twelve runs, whose returns rise with lr, and not with the size of the batch; vdn is worse."""
    number = 0
    for lr in (0.0001, 0.001, 0.01):
        for batch in (8, 32):
            for name in ("qmix", "vdn"):
                number += 1
                config = {"name": name, "lr": lr, "batch_size": batch, "seed": number, "use_cuda": False}
                write_run(tmp_path, number, config=config, info={"unique_token": f"r{number}"})
                score = 10 + 3 * np.log10(lr) - 4 * (name == "vdn") + 0.01 * number
                rows = [(t, t, t, key, score * t / 10) for t in (5, 10) for key in ("test_return_mean", "loss")]
                write_log(tmp_path, f"r{number}", rows)
    return context_of(tmp_path)


def figures_in(shown):
    return {graph.id: graph.figure for graph in parts_of(shown, "Graph")}


def test_settings_are_drawn_beside_scores_the_most_important_first(context):
    shown = figures_in(compared(HYPERPARAMETERS, context, {"metric": "test_return_mean"}).figures)
    lines = shown["h-lines"]
    assert list(lines.layout.xaxis.ticktext) == ["lr", "name", "batch_size", "Test return"]
    ticks = [(note.x, note.text, round(note.y, 2)) for note in lines.layout.annotations]
    assert ticks[:5] == [(0, "0.0001", 0), (0, "0.001", 0.5), (0, "0.01", 1), (1, "qmix", 0.25), (1, "vdn", 0.75)]
    assert sum(np.isnan(trace.y).sum() for trace in lines.data) == 12, "a line for each run"
    best = lines.data[-1]
    assert best.y[3] > 0.95 and " · qmix" in best.text[0] and best.text[0].endswith("lr: 0.01")
    bars = shown["h-bars"].data[0]
    assert list(bars.y) == ["lr", "name", "batch_size"] and bars.x[0] > bars.x[1] > 0.2 and bars.x[2] == 0
    assert bars.text[0] == "scores rise with it" and bars.text[2] == ""
    points = shown["h-points"]
    assert points.layout.xaxis.type == "log" and points.layout.xaxis2.type == "category"
    assert {trace.name for trace in points.data} == {"qmix", "vdn"}


def test_chosen_keys_and_the_file(context):
    shown = compared(
        HYPERPARAMETERS, context, {"metric": "test_return_mean", "keys": "batch_size", "where": "lr < 0.005"}
    )
    lines = figures_in(shown.figures)["h-lines"]
    assert list(lines.layout.xaxis.ticktext) == ["batch_size", "Test return"]
    assert sum(np.isnan(trace.y).sum() for trace in lines.data) == 8
    assert shown.address == "/hyperparameters?metric=test_return_mean&keys=batch_size&where=lr+<+0.005".replace(
        "<", "%3C"
    )
    content = HYPERPARAMETERS.files["csv"](compare(context, {"where": "name == vdn"}))["content"].splitlines()
    assert content[0] == "run,seed,lr,batch_size,score" and len(content) == 7


def test_keys_that_cannot_be_judged_have_no_bar_and_weak_trends_no_words():
    known, weak, unknown = (
        Importance(key, *of, 9) for key, *of in (("a", 0.5, 0.9), ("b", 0.2, -0.1), ("c", np.nan, 1))
    )
    bars = importance_bars([known, weak, unknown]).data[0]
    assert list(bars.y) == ["a", "b"] and list(bars.text) == ["scores rise with it", ""]
    assert importance_bars([Importance("a", 0.5, -0.9, 9)]).data[0].text[0] == "scores fall with it"


def test_too_many_words_have_no_axis_and_one_value_stands_in_the_middle():
    words = [f"w{k:02}" for k in range(MOST_WORDS + 1)]
    settings = {"lr": [0.1] * len(words), "word": words, "half": [word[:2] for word in words]}
    figure = parallel_coordinates(settings, np.arange(len(words), dtype=float), "Score", words)
    assert list(figure.layout.xaxis.ticktext) == ["lr", "half", "Score"]
    assert {height for line in figure.data for height in line.y[::4]} == {0.5}
    assert [note.text for note in figure.layout.annotations if note.x == 0] == ["0.1"]


def test_scaled_scores_and_keys_that_are_left_out_are_said(context, tmp_path):
    def said(context):
        return text_of(compared(HYPERPARAMETERS, context, {"metric": "test_return_mean"}).figures)

    assert "so scores are scaled" not in said(context) and "are left out" not in said(context)
    for number in range(1, 5):
        config = {"name": "qmix", "seed": 1, **{f"key_{k:02}": number * k for k in range(1, MOST_KEYS + 3)}}
        maps = {"env": "skirmish", "env_args": {"map_name": f"{number % 2}m"}}
        write_run(tmp_path / "other", number, config=config | maps, info={"unique_token": f"s{number}"})
        write_log(tmp_path / "other", f"s{number}", [(t, t, t, "test_return_mean", number) for t in (5, 10)])
    text = said(context_of(tmp_path / "other"))
    assert "so scores are scaled" in text and "keys that explain less are left out" in text


def test_points_have_the_colours_of_their_groups_and_one_legend(context):
    shown = figures_in(compared(HYPERPARAMETERS, context, {"metric": "test_return_mean"}).figures)["h-points"]
    colours = {(trace.name, trace.marker.color) for trace in shown.data}
    assert len(colours) == 2 == len({colour for _, colour in colours})
    assert [trace.name for trace in shown.data if trace.showlegend] == ["qmix", "vdn"]


def test_runs_with_the_same_settings_have_no_hyperparameters(context):
    text = text_of(compared(HYPERPARAMETERS, context, {"runs": "1"}).figures)
    assert "the same settings" in text
    assert "None of these runs has a value" in text_of(compared(HYPERPARAMETERS, context, {"step": "99999999"}).figures)


def test_a_filter_in_an_address_and_one_that_is_wrong(context):
    asked = compare(context, {"where": "lr > 0.005"})
    assert len(asked.runs) == 4 and asked.request.runs == () and not asked.wrong
    assert compare(context, {"where": "lrr > 1"}).wrong[0].count("Did you mean 'lr'?") == 1
    table = parts_of(view_of(context, "/", "?where=name+==+qmix"), "AgGrid")[0]
    assert len(table.rowData) == 6
    assert "Did you mean 'lr'" in text_of(view_of(context, "/", "?where=lrr>1"))
    _, rows, _ = runs.refreshed(context, [], [], None, "name == qmix and lr > 0.005")
    assert len(rows) == 2


def test_several_statistics_stand_side_by_side_at_one_address(context):
    shown = compared(COMPARE, context, {"metric": "test_return_mean", "also": "loss,nope", "scale": "y"})
    assert len(figures_in(shown.figures)) == 2
    assert {figure.layout.yaxis.type for figure in figures_in(shown.figures).values()} == {"log"}
    assert shown.address == "/compare?metric=test_return_mean&also=loss&scale=y"
    assert "no run has the statistic 'nope'" in text_of(shown.wrong).lower()
    rows = COMPARE.files["csv"](compare(context, {"also": "loss"}))["content"].splitlines()
    assert {row.split(",")[2] for row in rows[1:]} == {"test_return_mean", "loss"}


def test_the_config_stands_above_the_curves_with_changed_keys_first(context):
    shown = run_view(context, {"run": "1", "scale": "xy"})
    text = text_of(shown)
    assert text.index("run-config") < text.index("run-figures")
    rows = next(grid for grid in parts_of(shown, "AgGrid") if grid.id == "run-config").rowData
    assert rows[0]["value"] != rows[0]["default"]
    figure = next(iter(figures_in(shown).values()))
    assert (figure.layout.xaxis.type, figure.layout.yaxis.type) == ("log", "log")


def test_a_named_view_has_a_short_address_and_can_be_forgotten(context):
    writing = context_of(context.root, write=True)
    there = "/compare?metric=test_return_mean&also=loss"
    links = saved_views.changed(writing, "/compare", "save", " two  curves ", there)
    assert [(link.children, link.href) for link in links[1:]] == [("two curves", "/compare?view=two+curves")]
    assert saved_views.links(writing, "/results") == []
    shown = text_of(COMPARE.layout(context_of(context.root), {"view": "two curves", "scale": "y"}))
    assert f"{there}&scale=y" in shown and "Save view" not in shown
    assert "Did you mean 'two curves'?" in text_of(view_of(context, "/compare", "?view=two+curve"))
    writing.notes.write(writing.runs()[0], Note(("kept",)))
    assert context_of(context.root).notes.views() == {"two curves": there}, "notes keep the views"
    for word, name, address in (("forget", "other", there), ("save", "", there), ("save", "x", "/results?a=b")):
        with pytest.raises(NotWrittenError):
            saved_views.changed(writing, "/compare", word, name, address)
    assert saved_views.changed(writing, "/compare", "forget", "two curves", there) == []
    with pytest.raises(NotWrittenError, match="read-only"):
        saved_views.changed(context, "/compare", "save", "x", there)
