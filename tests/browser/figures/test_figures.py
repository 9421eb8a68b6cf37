"""Figures: what is in them, not how they look."""

from itertools import pairwise

import numpy as np
import plotly.graph_objects as go
import pytest

from browser import figures
from browser.figures import paper
from browser.figures.paper_style import Style, style_of
from browser.figures.paper_text import fitting, points, wrapped
from browser.figures.wording import value_title
from browser.reading import Curve
from browser.stats import Estimate, Profile, curve_band
from utils.errors import ConfigError


def curve(steps, values, **others):
    return Curve("test_return_mean", np.array(steps), np.array(values, dtype=float), **others)


BANDS = [
    curve_band("qmix", [curve([0, 10, 20], [0, 1, 2]), curve([0, 10, 20], [0, 3, 4])]),
    curve_band("<b>vdn</b> $x$", [curve([0, 10, 20], [5, 5, np.nan])]),
]
MATRIX = {
    "qmix": {"3m": Estimate(0.5, 0.25, 0.75, 5), "8m": Estimate(np.nan, np.nan, np.nan, 0)},
    "vdn": {"3m": Estimate(0.125, np.nan, np.nan, 1), "8m": Estimate(1.0, 0.5, 1.0, 2)},
}
PROFILES = [Profile("qmix", np.linspace(0, 1, 3), np.array([1, 0.5, 0]), np.zeros(3), np.ones(3), 5)]
PAIRS = [("qmix", "vdn", Estimate(0.75, 0.5, 0.875, 10))]
AGGREGATES = {"iqm": {"qmix": Estimate(0.5, 0.4, 0.6, 4)}, "mean": {"qmix": Estimate(0.7, 0.65, 0.8, 4)}}


def all_figures(module):
    return [
        module.learning_curves(BANDS, "test_return_mean", "3m"),
        module.score_heatmap(MATRIX, "test win rate", "final"),
        module.profile_curves(PROFILES, "test win rate"),
        module.improvement_intervals(PAIRS),
        module.aggregate_intervals(AGGREGATES),
    ]


def nothing_to_draw(module):
    return [
        module.learning_curves([], "test_return_mean"),
        module.score_heatmap({}, "test win rate"),
        module.profile_curves([], "test win rate"),
        module.improvement_intervals([]),
        module.aggregate_intervals({}),
    ]


def test_learning_curves_show_lines_bands_and_n():
    figure = figures.learning_curves(BANDS, "test_return_mean", "3m")
    lines = {trace.name: trace for trace in figure.data if trace.showlegend is not False}
    assert list(lines) == ["qmix (n = 2)", "&lt;b&gt;vdn&lt;/b&gt; $x$ (n = 1)"]
    assert lines["qmix (n = 2)"].y.tolist() == [0, 2, 3]
    assert lines["qmix (n = 2)"].customdata[:, 2].tolist() == [2, 2, 2]
    areas = [trace for trace in figure.data if trace.fill == "toself"]
    assert len(areas) == 1, "a single run has no band"
    assert areas[0].x.tolist() == [0, 10, 20, 20, 10, 0]
    np.testing.assert_allclose(areas[0].y, np.r_[BANDS[0].high, BANDS[0].low[::-1]])
    assert figure.layout.xaxis.title.text == "Environment steps"


def test_a_line_is_thin_where_runs_are_missing():
    band = curve_band("qmix", [curve(range(0, 50, 10), [1, 2, 3, 4, 5]), curve([0, 10], [3, 4])])
    whole, thin = (trace for trace in figures.learning_curves([band], "loss").data if trace.fill is None)
    assert whole.y[:3].tolist() == [2, 3, 3.5] and np.isnan(whole.y[3:]).all()
    assert np.isnan(thin.y[:2]).all() and thin.y[2:].tolist() == [3.5, 4, 5]
    assert (thin.line.color, thin.showlegend) == (whole.line.color, False) and thin.line.width < whole.line.width
    assert len(paper.learning_curves([band], "loss").axes[0].lines) == 2


def test_a_group_has_one_colour_in_all_figures():
    both, one = (figures.learning_curves(bands, "loss", order=["qmix", BANDS[1].label]) for bands in (BANDS, BANDS[1:]))
    assert both.data[-1].line.color == one.data[-1].line.color
    assert paper.learning_curves(BANDS[1:], "loss", order=["qmix", BANDS[1].label]).axes[0].lines[0].get_color() == (
        one.data[-1].line.color
    )


def test_runs_are_drawn_as_logged():
    curves = {"1": curve([0, 10], [1, np.inf], seconds=np.array([0.0, 5.0])), "2": curve([0], [1])}
    figure = figures.run_curves(curves, "loss", axis="seconds")
    assert [trace.name for trace in figure.data] == ["1"]
    assert figure.data[0].x.tolist() == [0, 5] and np.isnan(figure.data[0].y[1])
    assert figure.layout.xaxis.title.text == "Wall-clock time (s)"


def test_the_matrix_shows_values_intervals_and_n():
    (heat,) = figures.score_heatmap(MATRIX, "test win rate").data
    np.testing.assert_array_equal(heat.z, [[0.5, np.nan], [0.125, 1.0]])
    assert heat.text[0] == ["<b>0.50</b><br>[0.25, 0.75]<br>n = 5", ""] and heat.text[1][0] == "0.12<br>n = 1"
    (lowest,) = figures.score_heatmap(MATRIX, "loss", lower=True).data
    assert lowest.text[1][0].startswith("<b>0.12</b>") and not lowest.text[0][0].startswith("<b>")


def test_intervals_reach_from_low_to_high():
    (dots,) = figures.improvement_intervals(PAIRS).data
    assert dots.x.tolist() == [0.75] and dots.y == ("qmix > vdn (n = 10)",)
    assert (dots.error_x.array.tolist(), dots.error_x.arrayminus.tolist()) == ([0.125], [0.25])
    assert len(figures.aggregate_intervals(AGGREGATES).data) == 2


def test_plotly_neither_advertises_nor_sends_data_away():
    assert figures.CONFIG["displaylogo"] is False and figures.CONFIG["showSendToCloud"] is False


def test_every_line_of_twenty_looks_different():
    bands = [curve_band(str(i), [curve([0, 1], [i, i])]) for i in range(20)]
    lines = figures.learning_curves(bands, "loss").data
    assert len({(line.line.color, line.line.dash) for line in lines if line.showlegend is not False}) == 20


@pytest.mark.slow
@pytest.mark.parametrize("make", [all_figures, nothing_to_draw])
def test_both_libraries_draw_every_figure(make, tmp_path):
    for index, (shown, printed) in enumerate(zip(make(figures), make(paper), strict=True)):
        assert isinstance(go.Figure(shown.to_dict()), go.Figure) and shown.to_json()
        printed.savefig(tmp_path / f"{index}.svg")
        assert (tmp_path / f"{index}.svg").read_text().startswith("<?xml")


def test_both_libraries_draw_the_same_lines():
    for make in (
        lambda module: module.learning_curves(BANDS, "test_return_mean"),
        lambda module: module.profile_curves(PROFILES, "test win rate"),
    ):
        traces = [(list(line.x), list(line.y)) for line in make(figures).data if line.fill != "toself"]
        assert traces == [(list(line.get_xdata()), list(line.get_ydata())) for line in make(paper).axes[0].lines]
        assert len(traces) >= 1


def test_both_libraries_draw_the_same_cells():
    shown = figures.score_heatmap(MATRIX, "test win rate").data[0].z
    printed = paper.score_heatmap(MATRIX, "test win rate").axes[0].images[0].get_array().filled(np.nan)
    np.testing.assert_array_equal(np.array(shown, dtype=float), printed)


@pytest.mark.parametrize(("draw", "argument"), [("improvement_intervals", PAIRS), ("aggregate_intervals", AGGREGATES)])
def test_both_libraries_draw_the_same_intervals(draw, argument):
    shown = [
        [x - below, x, x + above]
        for trace in getattr(figures, draw)(argument).data
        for x, below, above in zip(trace.x, trace.error_x.arrayminus, trace.error_x.array, strict=True)
    ]
    printed = []
    for axes in getattr(paper, draw)(argument).axes:
        interval, dot = (line.get_xdata() for line in axes.lines[:2])
        printed.append([interval[0], dot[0], interval[1]])
    np.testing.assert_allclose(shown, printed)


def test_papers_show_the_same_numbers():
    axes = paper.learning_curves(BANDS, "test_return_mean").axes[0]
    assert axes.lines[0].get_ydata().tolist() == [0, 2, 3]
    assert axes.figure.legends[0].get_texts()[0].get_text() == "qmix (n = 2)"
    assert axes.get_xlabel() == "Environment steps"
    heat = paper.score_heatmap(MATRIX, "test win rate").axes[0]
    assert [text.get_text() for text in heat.texts] == [
        *("0.50\n[0.25, 0.75]\nn = 5", "0.12\nn = 1"),
        "1.00\n[0.50, 1.00]\nn = 2",
    ]
    assert [text.get_fontweight() for text in heat.texts] == ["bold", "normal", "normal"], "alone on its map"


def test_win_rates_are_shown_from_0_to_1():
    zeros = Curve("test_battle_won_mean", np.array([10, 20]), np.zeros(2))
    assert figures.run_curves({"run": zeros}, "test_battle_won_mean").layout.yaxis.range == (-0.03, 1.03)
    assert figures.run_curves({"run": zeros}, "test_return_mean").layout.yaxis.range is None
    cell = {"vdn": {"3m": Estimate(0.0, 0.0, 0.0, 3)}}
    heat = figures.score_heatmap(cell, "test win rate", share=True).data[0]
    assert (heat.zmin, heat.zmax) == (0, 1)
    assert figures.score_heatmap(cell, "test return").data[0].zmin is None


def test_panels_share_one_legend_with_n_and_the_titles_of_their_axes():
    more = curve_band("qmix", [curve([0, 10], [0, 1])] * 3)
    figure = paper.curve_panels({"3m": BANDS, "8m": [more]}, "test_return_mean", ["qmix", BANDS[1].label])
    assert [text.get_text() for text in figure.legends[0].get_texts()] == [
        "qmix (n = 2–3)",
        r"<b>vdn</b> \$x\$ (n = 1)",
    ]
    assert [axes.get_legend() for axes in figure.axes] == [None, None]
    assert [axes.get_title("left") for axes in figure.axes] == ["3m", "8m"]
    assert [(axes.get_xlabel(), axes.get_ylabel()) for axes in figure.axes] == [
        ("Environment steps", "Test return"),
        ("Environment steps", ""),
    ]


def test_lines_of_profiles_differ_in_colour_and_dash():
    many = [Profile(str(k), np.array([0.0, 1.0]), np.ones(2), np.ones(2), np.ones(2), 5) for k in range(7)]
    shown = [line.line for line in figures.profile_curves(many, "win").data if line.fill is None]
    printed = paper.profile_curves(many, "win").axes[0].lines
    assert len({line.color for line in shown}) == 7 == len({line.get_color() for line in printed})
    assert all(one.dash != other.dash for one, other in pairwise(shown))
    assert all(one.get_linestyle() != other.get_linestyle() or one._dash_pattern != other._dash_pattern
               for one, other in pairwise(printed))  # fmt: skip


def test_axes_have_titles_in_words():
    titles = {key: value_title(key) for key in ("test_return_mean", "td_error_abs", "test_ep_length_std", "a b<c>")}
    assert list(titles.values()) == ["Test return", "TD error abs", "Test episode length, standard deviation", "a b<c>"]


def test_a_conferences_figure_has_its_width_and_letters_that_stay_letters():
    pytest.importorskip("tueplots")
    half, full = style_of("icml"), style_of("icml", full_width=True)
    assert (half.width, full.width) == (3.25, 6.75) and style_of("icml2022").width == 3.25
    assert half.settings["pdf.fonttype"] == 42 and half.settings["text.usetex"] is False
    figure = paper.curve_panels({str(k): BANDS for k in range(4)}, "loss", style=half)
    assert figure.get_figwidth() == 3.25 and figure.axes[0].get_gridspec().ncols == 2
    for name in "neurips iclr aaai aistats uai cvpr eccv jmlr tmlr".split():
        assert 2 < style_of(name).width < 8 and style_of(name).settings["text.usetex"] is False
    with pytest.raises(ConfigError, match="Did you mean 'icml'"):
        style_of("iclm")


def test_long_names_stay_beside_one_another_in_a_column():
    style = Style(width=3.25)
    names = [f"gymma/lbforaging:Foraging-{k}x{k}-3p-3f-v3" for k in (5, 8, 10)]
    panels = paper.curve_panels(dict.fromkeys(names, BANDS), "loss", style=style)
    panels.canvas.draw()
    left, right = (axes._left_title for axes in panels.axes[:2])
    assert left.get_text().count("\n") and left.get_window_extent().x1 < right.get_window_extent().x0
    assert right.get_window_extent().x1 <= panels.bbox.x1
    matrix = {
        f"algorithm_{k}": {name: Estimate(350.0, 349.5, 350.5, 5) for name in [*names, "a", "b"]} for k in range(4)
    }
    drawn = paper.score_heatmap(matrix, "Test return", style=style)
    drawn.canvas.draw()
    (axes,) = drawn.axes  # no bar, which would leave no room for the cells
    assert len(axes.get_yticklabels()) == 5 and len(axes.get_xticklabels()) == 4, "maps are the rows"
    cell = axes.get_window_extent().width / 4
    assert all(text.get_window_extent().width <= cell for text in [*axes.texts, *axes.get_xticklabels()])
    assert len(paper.score_heatmap(MATRIX, "win rate", style=style).axes) == 2


def test_names_are_divided_at_their_signs_only():
    name = "gymma/lbforaging:Foraging-8x8"
    lines = wrapped(name, 0.8, "x-small").split("\n")
    assert len(lines) > 1 and "".join(lines) == name and all(line[-1] in "/:-" for line in lines[:-1])
    assert wrapped("onelongword", 0.1, "x-small") == "onelongword"
    assert fitting(["350.00\n[1, 2]"], 100.0, "x-small") == points("x-small") > fitting(["350.00"], 0.1, "x-small")
