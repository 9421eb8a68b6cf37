"""Learning curves: of groups with bands, and of single runs."""

from collections.abc import Mapping, Sequence

import numpy as np
import plotly.graph_objects as go

from browser.figures.style import TEMPLATE, area, plain_text
from browser.figures.wording import axis_title, color, dash, incomplete_stretches, is_share, numbered, value_title
from browser.reading.curves import Curve
from browser.stats.bands import Band, bands_title

# of a line, which is more than a screen has columns, and of all lines of a figure
MOST_POINTS = 4000
MOST_POINTS_OF_ALL = 100_000


def learning_curves(
    bands: Sequence[Band], metric: str, title: str = "", order: Sequence[str] = (), y_title: str = ""
) -> go.Figure:
    """A line with its band per group; the legend says how many runs a group has, hovering how many there.

    Where runs are missing that have values elsewhere, the line is thin and dotted.

    Args:
        bands: of one axis and kind, as `curve_band` makes them.
        metric: the statistic's key.
        title: e.g. the map; empty for none.
        order: labels in the order of their colours, to give a group the same in several figures; by default
            those of `bands`.
        y_title: the statistic in words, if not `value_title`'s.
    """
    figure = go.Figure()
    for index, band in numbered(bands, order):
        name = f"{plain_text(band.label)} (n = {band.runs})"
        complete = band.complete()
        figure.add_traces(_area(band, index, name))
        figure.add_trace(_line(band, index, name, complete, {"dash": dash(index), "width": 2}))
        if not complete.all():
            thin = _line(band, index, name, incomplete_stretches(complete), {"dash": "2px,3px", "width": 1.2})
            figure.add_trace(thin.update(showlegend=False))
    x_title = axis_title(bands[0].axis) if bands else ""
    y_title = f"{plain_text(y_title or value_title(metric))}<br><sub>{bands_title(bands)}</sub>" if bands else ""
    return _laid_out(figure, title, x_title, y_title, metric)


def run_curves(curves: Mapping[str, Curve], metric: str, axis: str = "steps", title: str = "") -> go.Figure:
    """A thin line per run, as logged; NaN leaves a gap. Of many points every stretch keeps its lowest and highest.

    Args:
        curves: by their names in the legend. One without positions on this axis is left out.
    """
    figure = go.Figure()
    most = min(MOST_POINTS, MOST_POINTS_OF_ALL // max(1, len(curves)))
    for index, (label, curve) in enumerate(curves.items()):
        curve = curve.thinned(most)
        x = curve.over(axis)
        if x is None:
            continue
        figure.add_trace(
            go.Scatter(
                x=x,
                y=np.where(np.isfinite(curve.values), curve.values, np.nan),
                name=plain_text(label),
                mode="lines+markers" if len(x) < 50 else "lines",
                line={"color": color(index), "dash": dash(index), "width": 1.5},
                marker={"size": 4},
                hovertemplate=f"<b>{plain_text(label)}</b><br>%{{x:,.0f}}: %{{y:.4g}}<extra></extra>",
            )
        )
    return _laid_out(figure, title, axis_title(axis), plain_text(value_title(metric)), metric)


def _line(band: Band, index: int, name: str, where: np.ndarray, line: Mapping) -> go.Scatter:
    """The centre at the positions `where`; bool [N]."""
    return go.Scatter(
        x=band.x,
        y=np.where(where, band.center, np.nan),
        name=name,
        legendgroup=str(index),
        mode="lines+markers" if where.sum() == 1 else "lines",
        line={"color": color(index), **line},
        customdata=np.stack([band.low, band.high, band.n], axis=1),
        hovertemplate=f"<b>{plain_text(band.label)}</b><br>%{{x:,.0f}}: %{{y:.3f}}"
        "<br>[%{customdata[0]:.3f}, %{customdata[1]:.3f}]<br>n = %{customdata[2]}<extra></extra>",
    )


def _area(band: Band, index: int, name: str) -> list[go.Scatter]:
    """The band as a filled outline, one for every stretch of positions where it is known."""
    known = np.isfinite(band.low) & np.isfinite(band.high)
    edges = np.flatnonzero(np.diff(np.r_[False, known, False]))
    stretches = [slice(start, end) for start, end in edges.reshape(-1, 2)]
    return [area(band.x[s], band.low[s], band.high[s], index).update(name=name) for s in stretches]


def _laid_out(figure: go.Figure, title: str, x_title: str, y_title: str, metric: str) -> go.Figure:
    if is_share(metric):
        figure.update_yaxes(range=[-0.03, 1.03])
    return figure.update_layout(
        template=TEMPLATE,
        title_text=plain_text(title),
        xaxis_title_text=x_title,
        yaxis_title_text=y_title,
        showlegend=True,
    )
