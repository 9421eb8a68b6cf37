"""How plotly figures look."""

import html
from typing import Any

import numpy as np
import plotly.graph_objects as go

from browser.figures.wording import PALETTE, color
from utils.colours import rgb

# for every place that shows a figure; without the second key, plotly offers to send the data to its makers' server
CONFIG: Any = {
    "displaylogo": False,
    "showSendToCloud": False,
    "responsive": True,
    "modeBarButtonsToRemove": ["select2d", "lasso2d", "autoScale2d"],
}

_GRID = "#e6e6e6"
INK = "#222222"
_AXIS = {
    "gridcolor": _GRID,
    "linecolor": "#999999",
    "zeroline": False,
    "ticks": "outside",
    "tickcolor": "#999999",
    "title": {"standoff": 10},
    "automargin": True,
}

TEMPLATE = go.layout.Template(
    layout={
        "font": {"family": "system-ui, sans-serif", "size": 14, "color": INK},
        "title": {"x": 0, "xanchor": "left", "xref": "paper", "font": {"size": 16}},
        "colorway": list(PALETTE),
        "paper_bgcolor": "white",
        "plot_bgcolor": "white",
        "xaxis": _AXIS,
        "yaxis": _AXIS,
        "hovermode": "closest",
        "hoverlabel": {"bgcolor": "white", "font": {"color": INK}, "align": "left"},
        "legend": {"bgcolor": "rgba(255,255,255,0.7)"},
        "margin": {"l": 60, "r": 20, "t": 50, "b": 55},
    }
)


def faint(hex_color: str, opacity: float = 0.18) -> str:
    """A colour for the area around a line."""
    red, green, blue = rgb(hex_color)
    return f"rgba({red},{green},{blue},{opacity})"


def area(x: np.ndarray, low: np.ndarray, high: np.ndarray, index: int = 0) -> go.Scatter:
    """The area between two lines, each [N], in the colour of the line with this number."""
    return go.Scatter(
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


def plain_text(text: str) -> str:
    """Text from a config or a log, escaped: plotly would take parts of it for markup."""
    return html.escape(str(text), quote=False)
