"""A run from inside: where its time went, and the course of monitored values."""

from collections.abc import Mapping, Sequence

import numpy as np
import plotly.graph_objects as go

from browser.figures.style import TEMPLATE, area, faint, plain_text
from browser.figures.wording import axis_title, color
from records.diagnosis import Histogram, PathTime
from records.metric_rows import Rows
from utils.monitoring import EDGES

# of a layer of the flame
ROW_HEIGHT = 40
ALL = "all"


def time_flame(times: Sequence[PathTime]) -> go.Figure:
    """A bar for each path of the timer, as wide as its share; its parts below it. Empty without any.

    Args:
        times: parents before their parts, as `Diagnosis.times`.
    """
    colors = {path.path: color(k) for k, path in enumerate(one for one in times if one.depth == 0)}
    total = sum(path.seconds for path in times if path.depth == 0)
    times = [PathTime(ALL, 1, total, 0.0, total), *times] if times else []
    figure = go.Figure(
        go.Icicle(
            ids=[path.path for path in times],
            labels=[plain_text(path.name) for path in times],
            parents=["", *(path.path.rpartition("/")[0] or ALL for path in times[1:])],
            values=[path.seconds for path in times],
            customdata=[[plain_text(path.path), path.count, path.each_ms, 1000 * path.longest] for path in times],
            branchvalues="total",
            tiling={"orientation": "v"},
            marker={"colors": ["rgba(128,128,128,0.2)", *(_shade(colors, path) for path in times[1:])]},
            texttemplate="%{label} %{percentRoot:.0%}",
            hovertemplate="<b>%{customdata[0]}</b><br>%{value:.4g} s, %{percentRoot:.1%} of all"
            "<br>%{customdata[1]:,} times, %{customdata[2]:.3g} ms each"
            "<br>the longest %{customdata[3]:.4g} ms<extra></extra>",
            sort=True,
        )
    )
    layers = 2 + max((path.depth for path in times), default=0)
    return figure.update_layout(template=TEMPLATE, height=ROW_HEIGHT * layers, margin={"l": 0, "r": 0, "t": 0, "b": 0})


def monitored_curve(mean: Rows, std: Rows | None) -> go.Figure:
    """A line of means, with two deviations around it where windows have them."""
    x, figure = mean.t_env, go.Figure()
    if std is not None and len(std.value) == len(mean.value):
        low, high = mean.value - 2 * std.value, mean.value + 2 * std.value
        figure.add_trace(area(x, low, high))
    mode = "lines+markers" if len(x) < 50 else "lines"
    figure.add_trace(go.Scatter(x=x, y=mean.value, mode=mode, line={"color": color(0), "width": 1.5}))
    return figure.update_layout(template=TEMPLATE, showlegend=False, xaxis_title_text=axis_title("steps"))


def histogram_map(histogram: Histogram) -> go.Figure:
    """The share of numbers of each size over the steps, the darker the more."""
    used = np.flatnonzero(histogram.counts.sum(axis=0))
    rows = range(used[0], used[-1] + 1) if len(used) else range(0)
    counts = histogram.counts[:, list(rows)].T
    shares = counts / np.maximum(histogram.counts.sum(axis=1), 1)
    figure = go.Figure(
        go.Heatmap(
            x=histogram.steps,
            y=[bin_title(place) for place in rows],
            z=np.where(counts > 0, shares, np.nan),
            customdata=counts,
            colorscale="Blues",
            zmin=0,
            hovertemplate="after %{x:,} steps<br>%{y}: %{z:.1%} (%{customdata:,})<extra></extra>",
            showscale=False,
        )
    )
    figure.update_layout(template=TEMPLATE, xaxis_title_text=axis_title("steps"))
    return figure.update_yaxes(type="category", showgrid=False)


def bin_title(place: int) -> str:
    """The numbers of a histogram's bin: "0.001 to 0.01"."""
    ends = [f"{end:g}" for end in EDGES]
    if place in (0, len(EDGES)):
        return f"below {ends[0]}" if place == 0 else f"above {ends[-1]}"
    return f"{ends[place - 1]} to {ends[place]}"


def _shade(colors: Mapping[str, str], path: PathTime) -> str:
    """The colour of its top, fainter with its depth."""
    return faint(colors[path.path.split("/")[0]], 0.75 / (1 + path.depth))
