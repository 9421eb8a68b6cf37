"""Self-play in figures: ratings over time, and cross-play matrices."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from browser.figures.style import INK, TEMPLATE, area, plain_text
from browser.figures.wording import MATRIX_COLORS, axis_title, color
from records.cross_play import Estimate, Matrix

# pixels of a row of a matrix
ROW = 46


def rating_curves(ratings: Mapping[str, tuple[np.ndarray, np.ndarray, np.ndarray]]) -> go.Figure:
    """A line for each team's newest model, in an area of two standard deviations.

    Args:
        ratings: team -> steps, ratings and deviations, `[n]` each.
    """
    figure = go.Figure()
    for k, (team, (steps, ratings_of, deviations)) in enumerate(ratings.items()):
        figure.add_trace(area(steps, ratings_of - 2 * deviations, ratings_of + 2 * deviations, k))
        line: dict[str, Any] = {"color": color(k), "width": 1.5}
        name = plain_text(team or "newest model")
        figure.add_trace(
            go.Scatter(x=steps, y=ratings_of, name=name, legendgroup=str(k), mode="lines+markers", line=line)
        )
    return figure.update_layout(
        template=TEMPLATE,
        showlegend=len(ratings) > 1,
        xaxis_title_text=axis_title("steps"),
        yaxis_title_text="rating",
    )


def cross_play_heatmap(matrix: Matrix, figure_of: str, names: Sequence[str], title: str) -> go.Figure:
    """A cell for each pair, with its mean and standard error.

    Args:
        figure_of: "returns" or "wins", of the cells.
        names: of the models, in their order.
    """
    count = len(matrix.models)
    cells = [[getattr(matrix.cell(row, column), figure_of) for column in range(count)] for row in range(count)]
    labels = [plain_text(name) for name in names]
    figure = go.Figure(
        go.Heatmap(
            x=labels,
            y=labels,
            z=[[cell.mean for cell in row] for row in cells],
            text=[[_text(cell) for cell in row] for row in cells],
            texttemplate="%{text}",
            hovertemplate="row %{y}, column %{x}<br>%{text}<extra></extra>",
            textfont={"color": INK},
            colorscale=[[0, MATRIX_COLORS[0]], [1, MATRIX_COLORS[1]]],
            xgap=2,
            ygap=2,
            colorbar={"title": {"text": plain_text(title)}},
            **({"zmin": 0, "zmax": 1} if figure_of == "wins" else {}),
        )
    )
    figure.update_xaxes(
        type="category", side="top", title_text=f"column plays {plain_text(', '.join(matrix.places[1])[:100])}"
    )
    figure.update_yaxes(
        type="category", autorange="reversed", title_text=f"row plays {plain_text(', '.join(matrix.places[0])[:100])}"
    )
    return figure.update_layout(template=TEMPLATE, height=170 + ROW * count)


def _text(cell: Estimate) -> str:
    if cell.mean is None:
        return ""
    return f"{cell.mean:.3g}" + ("" if cell.error is None else f" ± {cell.error:.2g}")
