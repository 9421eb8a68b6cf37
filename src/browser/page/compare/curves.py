"""The figures of the view Compare: a card per map, one legend for all, and the same as rows of a file."""

import json
import math
from collections.abc import Iterator, Sequence
from itertools import islice, product
from typing import Any

import plotly.graph_objects as go
from dash import dcc, html

from browser import cautions
from browser.comparison import NO_MAP
from browser.figures import learning_curves, metric_title, run_curves
from browser.figures.wording import color, dash, runs_title
from browser.page.compare.comparison_view import warnings
from browser.page.compare.request import LINEAR, SINGLE, Compared, hidden_name
from browser.page.parts.components import card, graph, png_button, run_title
from browser.reading import Curve, Run
from browser.report.tables import csv_text
from browser.stats import Band

# figures on one page, and lines in one of them, beyond which a browser would stall
MOST_FIGURES = 24
MOST_LINES = 200
MOST_GROUPS = 60
# rows of a file of curves; a group has up to 201 on every map
MOST_EXPORTED = 500_000


def drawn(compared: Compared, path: str) -> tuple[html.Div | None, html.Ul | None, list]:
    """Cautions, the legend, and a card for each map with a figure of each statistic, for the view with this path."""
    request, comparison = compared.request, compared.comparison
    single = request.band == SINGLE
    metrics = (request.metric, *request.also)
    cards, most_groups = [], 0
    for place, (name, metric) in enumerate(product(comparison.maps[: MOST_FIGURES // len(metrics)], metrics)):
        bands = [] if single else shown_bands(compared, metric, name)
        if single:
            curves = {run_title(run): curve for run, curve in _single_curves(compared, metric, name)[:MOST_LINES]}
            figure = run_curves(curves, metric, request.axis)
        else:
            most_groups = max(most_groups, len(bands))
            bands = bands[:MOST_GROUPS]
            figure = learning_curves(bands, metric, order=comparison.lines())
        if figure.data:
            figure.update_layout(legend={"orientation": "h", "y": -0.2, "x": 0}, margin={"t": 12}, showlegend=single)
            cards.append(_card(compared, metric, name, place, on_scale(figure, request.scale), bands, path))
    if not cards:
        cards = [card("No curves", html.P("None of these runs has logged this statistic on this axis."))]
    if most_groups > MOST_GROUPS:
        more = f"The first {MOST_GROUPS} of up to {most_groups:,} groups are drawn; group by fewer keys to see all."
        cards.append(card("More groups", html.P(more)))
    if len(comparison.maps) > MOST_FIGURES // len(metrics):
        shown = MOST_FIGURES // len(metrics)
        cards.append(card("More maps", html.P(f"The first {shown} of {len(comparison.maps)} maps are shown.")))
    found = [caution for metric in metrics for caution in cautions.of_metric(comparison, metric, request.axis)]
    if not single:
        found = cautions.of_groups(comparison) + found
    return warnings(found, request, path), None if single else legend(compared, path), cards


def on_scale(figure: go.Figure, scale: str) -> go.Figure:
    """The figure with logarithmic axes where `scale`, one of SCALES, says so; they show what is above 0."""
    for letter, update in (("x", figure.update_xaxes), ("y", figure.update_yaxes)):
        if scale != LINEAR and letter in scale:
            update(type="log", range=None, autorange=True, exponentformat="power")
    return figure


def _card(
    compared: Compared, metric: str, name: str, index: int, figure: go.Figure, bands: Sequence[Band], path: str
) -> html.Section:
    request, known = compared.request, name != NO_MAP
    file_name = metric + (f"_{name}" if known else "")
    found = cautions.of_curves(compared.comparison, bands, metric)
    content = [graph(figure, f"curves-{index}"), warnings(found, request, path)]
    tools = [html.Span(runs_title(bands), className="count"), png_button(f"curves-{index}", file_name, legend=True)]
    parts = [name] if known else []
    parts += [metric_title(metric)] if request.also or not known else []
    return card(" · ".join(parts), *content, tools=tools, key=f"{name} {metric}")


def shown_bands(compared: Compared, metric: str, map_name: str) -> list[Band]:
    """The learning curves of a statistic on one map, without those that are hidden."""
    request = compared.request
    bands = compared.comparison.bands(metric, map_name, request.band, request.axis, request.smoothing)
    return [band for band in bands if hidden_name(band.label) not in request.hide]


def legend(compared: Compared, path: str) -> html.Ul:
    """One legend for all figures; a click hides or shows a line."""
    request, entries = compared.request, []
    for index, label in enumerate(compared.comparison.lines()[:MOST_GROUPS]):
        name = hidden_name(label)
        hidden = name in request.hide
        hide = tuple(other for other in request.hide if other != name) if hidden else (*request.hide, name)
        style = {"borderTopColor": color(index), "borderTopStyle": _BORDERS[dash(index)]}
        data: dict[str, Any] = {"data-colour": color(index)}
        line = html.Span(className="line", style=style, **data)
        href = request.address(path, hide=hide)
        title = "click to show" if hidden else "click to hide"
        entries.append(html.Li(dcc.Link([line, label], href=href, title=title, className="off" if hidden else "")))
    return html.Ul(entries, className="legend-of-all")


_BORDERS = {"solid": "solid", "dash": "dashed", "dot": "dotted"}


def _single_curves(compared: Compared, metric: str, map_name: str) -> list[tuple[Run, Curve]]:
    comparison = compared.comparison
    runs = [run for run in comparison.runs if comparison.map_of(run) == map_name]
    return [(run, curve) for run in runs if (curve := comparison.curve(run, metric)) is not None]


def curve_rows(compared: Compared) -> list[dict[str, Any]]:
    """The curves as rows: one per map, statistic, algorithm (or run) and position; at most MOST_EXPORTED."""
    request = compared.request
    each = _single_rows if request.band == SINGLE else _band_rows
    figures = product(compared.comparison.maps, (request.metric, *request.also))
    rows = (row for name, metric in figures for row in each(compared, metric, name))
    return list(islice(rows, MOST_EXPORTED))


def _band_rows(compared: Compared, metric: str, map_name: str) -> Iterator[dict[str, Any]]:
    request = compared.request
    for band in shown_bands(compared, metric, map_name):
        for x, center, low, high, n in zip(band.x, band.center, band.low, band.high, band.n, strict=True):
            values = {request.axis: x, request.band: center, "low": low, "high": high}
            texts = {key: None if value != value else float(value) for key, value in values.items()}
            yield {"map": map_name, "algorithm": band.label, "metric": metric, **texts, "n": int(n)}


def _single_rows(compared: Compared, metric: str, map_name: str) -> Iterator[dict[str, Any]]:
    request = compared.request
    for run, curve in _single_curves(compared, metric, map_name):
        about = {"map": map_name, "run": run.id, "algorithm": run.name, "seed": run.seed}
        x = curve.over(request.axis)
        for position, value in zip(x, curve.values, strict=True) if x is not None else ():
            known = float(value) if math.isfinite(value) else None
            yield {**about, "metric": metric, request.axis: float(position), "value": known}


def as_file(compared: Compared, form: str) -> dict[str, str]:
    """The curves as a file: "csv" or "json"."""
    rows = curve_rows(compared)
    if form == "json":
        return {"content": json.dumps(rows, indent=1), "filename": "curves.json"}
    return {"content": csv_text(list(rows[0]) if rows else ["map"], rows), "filename": "curves.csv"}
