"""Algorithm × map as a heat map."""

from collections.abc import Mapping

import numpy as np
import plotly.graph_objects as go

from browser.figures.style import INK, TEMPLATE, plain_text
from browser.figures.wording import MATRIX_COLORS
from browser.stats.aggregates import Estimate, best_on_maps


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


def _cell_text(cell: Estimate, best: bool) -> str:
    if cell.n == 0:
        return ""
    value = f"<b>{cell.value:.2f}</b>" if best else f"{cell.value:.2f}"
    return "<br>".join(filter(None, (value, cell.spread(), f"n = {cell.n}")))
