"""Comparisons over maps and seeds: algorithm × map, profiles, probabilities of improvement, aggregates."""

from collections.abc import Mapping, Sequence

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from browser.figures.style import INK, TEMPLATE, area, plain_text
from browser.figures.wording import AGGREGATE_TITLES, MATRIX_COLORS, color, staggered_dash
from browser.stats.aggregates import Estimate, Profile, best_on_maps


def score_heatmap(
    matrix: Mapping[str, Mapping[str, Estimate]],
    metric: str,
    title: str = "",
    share: bool = False,
    lower: bool = False,
) -> go.Figure:
    """A cell per algorithm and map with the interquartile mean, its spread and n; empty without runs.

    The best of every map is bold, see `best_on_maps`.

    Args:
        matrix: estimates by algorithm and map, as `score_matrix` makes them; rows from top to bottom.
        metric: what the scores are, for the colour bar.
        share: whether they lie between 0 and 1, which are then the ends of the colours.
        lower: whether the lowest score is the best.
    """
    algorithms = list(matrix)
    maps = list(next(iter(matrix.values()), {}))
    best = best_on_maps(matrix, lower)
    cells = [[matrix[algorithm][name] for name in maps] for algorithm in algorithms]
    values = np.array([[cell.value for cell in row] for row in cells]).reshape(len(algorithms), len(maps))
    figure = go.Figure(
        go.Heatmap(
            x=[plain_text(name) for name in maps],
            y=[plain_text(name) for name in algorithms],
            z=values,
            text=[[_cell_text(matrix[row][name], (row, name) in best) for name in maps] for row in algorithms],
            texttemplate="%{text}",
            customdata=[[cell.text(3) for cell in row] for row in cells],
            hovertemplate="<b>%{y}</b> on %{x}<br>%{customdata}<extra></extra>",
            textfont={"color": INK},
            colorscale=[[0, MATRIX_COLORS[0]], [1, MATRIX_COLORS[1]]],
            xgap=2,
            ygap=2,
            hoverongaps=True,
            **({"zmin": 0, "zmax": 1} if share else {}),
            colorbar={"title": {"text": plain_text(metric)}},
        )
    )
    figure.update_layout(template=TEMPLATE, title_text=plain_text(title), height=150 + 70 * max(1, len(algorithms)))
    figure.update_xaxes(type="category", showgrid=False)
    figure.update_yaxes(type="category", autorange="reversed", showgrid=False)
    return figure


def profile_curves(profiles: Sequence[Profile], metric: str, title: str = "") -> go.Figure:
    """The share of runs above every score, one line with a 95 % band per algorithm."""
    figure = go.Figure()
    for index, profile in enumerate(profiles):
        name = f"{plain_text(profile.label)} (n = {profile.n})"
        known = np.isfinite(profile.low)
        x, high = _stairs(profile.thresholds[known], profile.high[known])
        _, low = _stairs(profile.thresholds[known], profile.low[known])
        figure.add_trace(area(x, low, high, index))
        figure.add_trace(
            go.Scatter(
                x=profile.thresholds,
                y=profile.share,
                name=name,
                legendgroup=str(index),
                mode="lines",
                line={"color": color(index), "dash": staggered_dash(index), "width": 2, "shape": "hv"},
                hovertemplate=f"<b>{name}</b><br>%{{y:.0%}} of runs above %{{x:.2f}}<extra></extra>",
            )
        )
    figure.update_layout(template=TEMPLATE, title_text=plain_text(title), showlegend=True)
    figure.update_xaxes(title_text=f"{plain_text(metric)} τ")
    figure.update_yaxes(title_text="Share of runs above τ", range=[-0.02, 1.02], tickformat=".0%")
    return figure


def improvement_intervals(improvements: Sequence[tuple[str, str, Estimate]], title: str = "") -> go.Figure:
    """P(X > Y) with its 95 % interval, a row per pair; the line at one half is where neither is better.

    Args:
        improvements: X, Y and the estimate.
    """
    rows = [f"{plain_text(x)} > {plain_text(y)} (n = {estimate.n})" for x, y, estimate in improvements]
    figure = go.Figure(_intervals(rows, [estimate for *_, estimate in improvements], [color(0)] * len(rows)))
    figure.add_vline(x=0.5, line={"color": "#999999", "dash": "dash", "width": 1})
    figure.update_layout(template=TEMPLATE, title_text=plain_text(title), height=140 + 40 * max(1, len(rows)))
    figure.update_xaxes(title_text="Probability of improvement P(X > Y)", range=[-0.02, 1.02])
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
    first = next(iter(aggregates.values()), {})
    rows = [f"{plain_text(label)} (n = {first[label].n})" for label in labels]
    colors = [color(index) for index in range(len(labels))]
    for column, estimates in enumerate(aggregates.values(), start=1):
        figure.add_trace(_intervals(rows, [estimates[label] for label in labels], colors), row=1, col=column)
    figure.update_layout(
        template=TEMPLATE, title_text=plain_text(title), showlegend=False, height=170 + 40 * max(1, len(labels))
    )
    figure.update_layout(margin_t=90)
    figure.update_annotations(font_size=13)
    figure.update_yaxes(type="category", autorange="reversed")
    return figure


def _cell_text(cell: Estimate, best: bool) -> str:
    if cell.n == 0:
        return ""
    value = f"<b>{cell.value:.2f}</b>" if best else f"{cell.value:.2f}"
    return "<br>".join(filter(None, (value, cell.spread(), f"n = {cell.n}")))


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
