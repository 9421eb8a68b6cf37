"""Figures as plain functions: data of `browser.stats` in, a plotly Figure out; `figures.paper` draws them for papers.

Show them with CONFIG, which leaves plotly's logo out:

    figure = learning_curves(bands, "test_return_mean")
    figure.write_html("curves.html", config=CONFIG)
"""
# ruff: noqa: F401 - names for users of this package

from browser.figures.comparisons import aggregate_intervals, improvement_intervals, profile_curves, score_heatmap
from browser.figures.learning_curves import learning_curves, run_curves
from browser.figures.style import CONFIG
from browser.figures.wording import PALETTE, axis_title, metric_title, value_title
