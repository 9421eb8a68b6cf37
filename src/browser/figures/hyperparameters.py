"""Hyperparameters against results: parallel coordinates, scatters, and what each key explains."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go
from plotly.colors import sample_colorscale
from plotly.subplots import make_subplots

from browser.figures.style import TEMPLATE, plain_text
from browser.figures.wording import color
from browser.stats.importance import Importance, as_numbers

# the greatest by the least value, from which an axis is logarithmic
LOG_FROM = 20.0
# words on an axis, and their characters
MOST_WORDS = 20
_LONGEST = 28
# a share of the variance, and a rank correlation, of which a trend is named
_TELLING, _CLEAR = 0.05, 0.3
_COLUMNS = 3
# shades of lines, and ticks of an axis
_LEVELS = 24
_TICKS = 6
_PANEL = 260


def parallel_coordinates(
    settings: Mapping[str, Sequence[Any]], scores: np.ndarray, title: str, names: Sequence[str]
) -> go.Figure:
    """A line for each run through an axis for each key and, at last, its score, which is also its colour.

    Axes of positive numbers over more than a decade are logarithmic; words stand at equal distances. Drawn as SVG:
    plotly's own figure of this kind needs WebGL and compiles code, which the page's security policy forbids.

    Args:
        settings: values of R runs by key; keys of more than MOST_WORDS words are left out.
        scores: float64 [R].
        title: what they are.
        names: of the runs.
    """
    axes = [made for key, values in settings.items() if (made := _axis(key, values)) is not None]
    axes.append(_numbers_axis(title, scores))
    heights = np.stack([axis.heights for axis in axes], axis=1)
    levels = np.minimum((_scaled(scores) * _LEVELS).astype(int), _LEVELS - 1)
    shades = sample_colorscale("Viridis", [(level + 0.5) / _LEVELS for level in range(_LEVELS)])
    figure = go.Figure()
    for level in np.unique(levels):  # the best runs lie on top
        chosen = np.flatnonzero(levels == level).tolist()
        # a line ends where None stands
        y = np.concatenate([np.r_[heights[k], np.nan] for k in chosen])
        texts = [[*(f"{plain_text(names[k])}<br>{axis.title}: {axis.shown[k]}" for axis in axes), ""] for k in chosen]
        figure.add_trace(
            go.Scatter(
                x=np.tile(np.r_[np.arange(len(axes)), np.nan], len(chosen)),
                y=y,
                mode="lines",
                line={"color": shades[level], "width": 1.4},
                opacity=0.8,
                text=[text for line in texts for text in line],
                hovertemplate="%{text}<extra></extra>",
            )
        )
    for place, axis in enumerate(axes):
        figure.add_vline(x=place, line={"color": "#999999", "width": 1})
        for height, text in axis.ticks:
            figure.add_annotation(x=place, y=height, text=text, showarrow=False, xanchor="left", xshift=4, font_size=11,
                                  bgcolor="rgba(255,255,255,0.7)")  # fmt: skip
    figure.update_layout(template=TEMPLATE, height=430, showlegend=False, margin={"l": 40, "r": 90, "t": 60, "b": 16})
    figure.update_xaxes(tickvals=list(range(len(axes))), ticktext=[axis.title for axis in axes], side="top",
                        showgrid=False, showline=False, ticks="", range=[-0.1, len(axes) - 0.9 + 0.1])  # fmt: skip
    return figure.update_yaxes(visible=False, range=[-0.04, 1.04])


def setting_scatters(
    settings: Mapping[str, Sequence[Any]],
    scores: np.ndarray,
    title: str,
    labels: Sequence[str],
    names: Sequence[str],
    order: Sequence[str],
) -> go.Figure:
    """A panel for each key, a point for each run, in its group's colour.

    Args:
        labels: the runs' groups, whose colours are by their place in `order`.
        names: of the runs, shown at their points.
    """
    keys = list(settings)
    rows = max(1, -(-len(keys) // _COLUMNS))
    figure = make_subplots(
        rows=rows,
        cols=_COLUMNS,
        shared_yaxes=True,
        subplot_titles=[_short(key) for key in keys],
        vertical_spacing=0.32 / rows,
        horizontal_spacing=0.04,
    )
    groups = [label for label in order if label in set(labels)]
    for place, key in enumerate(keys):
        row, column = 1 + place // _COLUMNS, 1 + place % _COLUMNS
        numbers = as_numbers(settings[key])
        for label in groups:
            at = [k for k, one in enumerate(labels) if one == label]
            x = [settings[key][k] if numbers is not None else plain_text(str(settings[key][k])[:_LONGEST]) for k in at]
            figure.add_trace(
                go.Scatter(
                    x=x,
                    y=scores[at],
                    mode="markers",
                    name=plain_text(label),
                    legendgroup=label,
                    showlegend=place == 0,
                    marker={"color": color(order.index(label)), "size": 7, "opacity": 0.75},
                    text=[plain_text(names[k]) for k in at],
                    hovertemplate="<b>%{text}</b><br>%{x}: %{y:.4g}<extra></extra>",
                ),
                row=row,
                col=column,
            )
        kind = "category" if numbers is None else "log" if _is_wide(numbers) else "linear"
        figure.update_xaxes(type=kind, exponentformat="power", row=row, col=column)
    figure.update_layout(template=TEMPLATE, height=90 + _PANEL * rows, showlegend=len(groups) > 1, margin={"t": 40})
    figure.update_layout(legend={"orientation": "h", "y": -0.12 / rows * 2, "x": 0})
    figure.update_yaxes(title_text=plain_text(title), col=1)
    return figure.update_annotations(font_size=12)


def importance_bars(importances: Sequence[Importance]) -> go.Figure:
    """What each key explains of the scores' variance, the most first; a clear trend stands beside its bar."""
    known = [one for one in importances if math.isfinite(one.share)]
    figure = go.Figure(
        go.Bar(
            x=[one.share for one in known],
            y=[_short(one.key) for one in known],
            orientation="h",
            marker={"color": color(0)},
            text=[_trend(one) for one in known],
            textposition="outside",
            cliponaxis=False,
            customdata=[[one.trend, one.n] for one in known],
            hovertemplate="<b>%{y}</b><br>%{x:.0%} of the variance<br>rank correlation %{customdata[0]:.2f}"
            "<br>n = %{customdata[1]} runs<extra></extra>",
        )
    )
    figure.update_layout(template=TEMPLATE, height=110 + 30 * max(1, len(known)), margin={"t": 12, "r": 130})
    figure.update_xaxes(title_text="Share of the scores' variance", range=[0, 1.02], tickformat=".0%")
    return figure.update_yaxes(type="category", autorange="reversed")


def _trend(one: Importance) -> str:
    """In words, of a key that explains something."""
    if one.share < _TELLING or not math.isfinite(one.trend) or abs(one.trend) < _CLEAR:
        return ""
    return "scores rise with it" if one.trend > 0 else "scores fall with it"


@dataclass(frozen=True)
class _Axis:
    """An axis of parallel coordinates: where each run meets it, from 0 to 1 [R], its texts [R], and ticks."""

    title: str
    heights: np.ndarray
    shown: list[str]
    ticks: list[tuple[float, str]]


def _axis(key: str, values: Sequence[Any]) -> _Axis | None:
    """Of a key; None for too many words."""
    numbers = as_numbers(values)
    if numbers is not None:
        return _numbers_axis(key, numbers)
    words = sorted({str(value) for value in values})
    if len(words) > MOST_WORDS:
        return None
    places = {word: (k + 0.5) / len(words) for k, word in enumerate(words)}
    ticks = [(height, plain_text(word[:_LONGEST])) for word, height in places.items()]
    shown = [plain_text(str(value)) for value in values]
    return _Axis(_short(key), np.array([places[str(value)] for value in values]), shown, ticks)


def _numbers_axis(title: str, numbers: np.ndarray) -> _Axis:
    low, high = numbers.min(), numbers.max()
    if low == high:
        ticks = np.array([low])
    elif _is_wide(numbers):
        decades = 10.0 ** np.arange(math.ceil(np.log10(low)), math.floor(np.log10(high)) + 1)
        ticks = decades if len(decades) > 1 else np.array([low, high])
    else:
        found = np.unique(numbers)
        ticks = found if len(found) <= _TICKS else np.linspace(low, high, _TICKS)
    scale = np.log10 if low != high and _is_wide(numbers) else np.asarray
    heights = _scaled(scale(np.r_[numbers, ticks]))
    marks = [(float(height), f"{tick:.4g}") for height, tick in zip(heights[len(numbers) :], ticks, strict=True)]
    return _Axis(_short(title), heights[: len(numbers)], [f"{number:.4g}" for number in numbers], marks)


def _scaled(numbers: np.ndarray) -> np.ndarray:
    """From 0 to 1; 0.5 where all are the same."""
    low, high = numbers.min(), numbers.max()
    return (numbers - low) / (high - low) if high > low else np.full(len(numbers), 0.5)


def _short(title: str) -> str:
    return plain_text(title if len(title) <= _LONGEST else f"…{title[-_LONGEST:]}")


def _is_wide(numbers: np.ndarray) -> bool:
    return bool(numbers.min() > 0 and numbers.max() >= LOG_FROM * numbers.min())
