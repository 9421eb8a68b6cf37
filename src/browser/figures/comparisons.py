"""Comparisons over maps and seeds: profiles, probabilities of improvement, aggregates."""

from collections.abc import Mapping, Sequence

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from browser.figures.style import TEMPLATE, color, dash, faint, plain_text
from browser.figures.wording import AGGREGATE_TITLES
from browser.stats.aggregates import Estimate, Profile


def profile_curves(profiles: Sequence[Profile], metric: str, title: str = "") -> go.Figure:
    """The share of runs above every score, one line with a 95 % band per algorithm."""
    figure = go.Figure()
    for index, profile in enumerate(profiles):
        name = f"{plain_text(profile.label)} (n = {profile.n})"
        known = np.isfinite(profile.low)
        x, high = _stairs(profile.thresholds[known], profile.high[known])
        _, low = _stairs(profile.thresholds[known], profile.low[known])
        figure.add_trace(
            go.Scatter(
                x=np.r_[x, x[::-1]],
                y=np.r_[high, low[::-1]],
                legendgroup=str(index),
                showlegend=False,
                mode="lines",
                line={"width": 0},
                fill="toself",
                fillcolor=faint(color(index)),
                hoverinfo="skip",
            )
        )
        figure.add_trace(
            go.Scatter(
                x=profile.thresholds,
                y=profile.share,
                name=name,
                legendgroup=str(index),
                mode="lines",
                line={"color": color(index), "dash": dash(index), "width": 2, "shape": "hv"},
                hovertemplate=f"<b>{name}</b><br>%{{y:.0%}} of runs above %{{x:.2f}}<extra></extra>",
            )
        )
    figure.update_layout(template=TEMPLATE, title_text=plain_text(title), showlegend=True)
    figure.update_xaxes(title_text=f"{plain_text(metric)} τ")
    figure.update_yaxes(title_text="share of runs with a score above τ", range=[-0.02, 1.02], tickformat=".0%")
    return figure


def improvement_intervals(improvements: Sequence[tuple[str, str, Estimate]], title: str = "") -> go.Figure:
    """P(X > Y) with its 95 % interval, a row per pair; the line at one half is where neither is better.

    Args:
        improvements: X, Y and the estimate.
    """
    rows = [f"{plain_text(x)} > {plain_text(y)}" for x, y, _ in improvements]
    figure = go.Figure(_intervals(rows, [estimate for *_, estimate in improvements], [color(0)] * len(rows)))
    figure.add_vline(x=0.5, line={"color": "#999999", "dash": "dash", "width": 1})
    figure.update_layout(template=TEMPLATE, title_text=plain_text(title), height=140 + 40 * max(1, len(rows)))
    figure.update_xaxes(title_text="probability of improvement P(X > Y)", range=[-0.02, 1.02])
    figure.update_yaxes(type="category", autorange="reversed")
    return figure


def aggregate_intervals(aggregates: Mapping[str, Mapping[str, Estimate]], title: str = "") -> go.Figure:
    """Aggregates with their 95 % intervals: a panel per aggregate, a row per algorithm.

    Args:
        aggregates: estimates by aggregate (one of AGGREGATES) and algorithm.
    """
    labels = list(next(iter(aggregates.values()), {}))
    figure = make_subplots(
        cols=max(1, len(aggregates)),
        shared_yaxes=True,
        horizontal_spacing=0.03,
        subplot_titles=[AGGREGATE_TITLES.get(how, how) for how in aggregates],
    )
    rows, colors = [plain_text(label) for label in labels], [color(index) for index in range(len(labels))]
    for column, estimates in enumerate(aggregates.values(), start=1):
        figure.add_trace(_intervals(rows, [estimates[label] for label in labels], colors), row=1, col=column)
    figure.update_layout(
        template=TEMPLATE, title_text=plain_text(title), showlegend=False, height=170 + 40 * max(1, len(labels))
    )
    figure.update_layout(margin_t=90)
    figure.update_annotations(font_size=13)
    figure.update_yaxes(type="category", autorange="reversed")
    return figure


def _stairs(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The corners of a line that keeps each value until the next position."""
    return np.repeat(x, 2)[1:], np.repeat(y, 2)[:-1]


def _intervals(rows: list[str], estimates: Sequence[Estimate], colors: list[str]) -> go.Scatter:
    values = np.array([estimate.value for estimate in estimates])
    lows, highs = (np.array([getattr(estimate, end) for estimate in estimates]) for end in ("low", "high"))
    return go.Scatter(
        x=values,
        y=rows,
        mode="markers",
        marker={"size": 10, "color": colors},
        error_x={
            "type": "data",
            "symmetric": False,
            "array": highs - values,
            "arrayminus": values - lows,
            "color": "#666666",
            "thickness": 2,
        },
        customdata=[estimate.text(3) for estimate in estimates],
        hovertemplate="<b>%{y}</b><br>%{customdata}<extra></extra>",
        showlegend=False,
    )
