"""The figures of the view Compare: a card per map, one legend for all, and the same as rows of a file."""

import json
import math
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

import plotly.graph_objects as go
from dash import dcc, html

from browser import cautions
from browser.comparison import NO_MAP
from browser.figures import learning_curves, metric_title, run_curves
from browser.figures.wording import color, dash, runs_title
from browser.page.compare.comparison_view import warnings
from browser.page.compare.request import SINGLE, Compared, hidden_name
from browser.page.parts.components import card, graph, png_button, run_title
from browser.reading import Curve, Run
from browser.report.tables import csv_text
from browser.stats import Band

# figures on one page, and lines in one of them, beyond which a browser would stall
MOST_MAPS = 24
MOST_LINES = 200
MOST_GROUPS = 60
# rows of a file of curves; a group has up to 201 on every map
MOST_EXPORTED = 500_000


def drawn(compared: Compared, path: str) -> tuple[html.Div | None, html.Ul | None, list]:
    """Cautions, the legend, and a card with a figure per map, for the view with this path."""
    request, comparison = compared.request, compared.comparison
    single = request.band == SINGLE
    cards, most_groups = [], 0
    for index, name in enumerate(comparison.maps[:MOST_MAPS]):
        bands = [] if single else shown_bands(compared, name)
        if single:
            curves = {run_title(run): curve for run, curve in _single_curves(compared, name)[:MOST_LINES]}
            figure = run_curves(curves, request.metric, request.axis)
        else:
            most_groups = max(most_groups, len(bands))
            bands = bands[:MOST_GROUPS]
            figure = learning_curves(bands, request.metric, order=comparison.labels())
        if figure.data:
            figure.update_layout(legend={"orientation": "h", "y": -0.2, "x": 0}, margin={"t": 12}, showlegend=single)
            cards.append(_card(compared, name, index, figure, bands, path))
    if not cards:
        cards = [card("No curves", html.P("None of these runs has logged this statistic on this axis."))]
    if most_groups > MOST_GROUPS:
        more = f"The first {MOST_GROUPS} of up to {most_groups:,} groups are drawn; group by fewer keys to see all."
        cards.append(card("More groups", html.P(more)))
    if len(comparison.maps) > MOST_MAPS:
        cards.append(card("More maps", html.P(f"The first {MOST_MAPS} of {len(comparison.maps)} maps are shown.")))
    found = cautions.of_metric(comparison, request.metric, request.axis)
    if not single:
        found = cautions.of_groups(comparison) + found
    return warnings(found, request, path), None if single else legend(compared, path), cards


def _card(
    compared: Compared, name: str, index: int, figure: go.Figure, bands: Sequence[Band], path: str
) -> html.Section:
    request, known = compared.request, name != NO_MAP
    file_name = request.metric + (f"_{name}" if known else "")
    found = cautions.of_curves(compared.comparison, bands, request.metric)
    content = [
        graph(figure, f"curves-{index}"),
        warnings(found, request, path),
    ]
    tools = [html.Span(runs_title(bands), className="count"), png_button(f"curves-{index}", file_name, legend=True)]
    return card(name if known else metric_title(request.metric), *content, tools=tools, key=name)


def shown_bands(compared: Compared, map_name: str) -> list[Band]:
    """The learning curves of one map, without those that are hidden."""
    request = compared.request
    bands = compared.comparison.bands(request.metric, map_name, request.band, request.axis, request.smoothing)
    return [band for band in bands if hidden_name(band.label) not in request.hide]


def legend(compared: Compared, path: str) -> html.Ul:
    """One legend for all figures; a click hides or shows a line."""
    request, entries = compared.request, []
    for index, label in enumerate(compared.comparison.labels()[:MOST_GROUPS]):
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


def _single_curves(compared: Compared, map_name: str) -> list[tuple[Run, Curve]]:
    comparison = compared.comparison
    runs = [run for run in comparison.runs if comparison.map_of(run) == map_name]
    return [(run, curve) for run in runs if (curve := comparison.curve(run, compared.request.metric)) is not None]


def curve_rows(compared: Compared) -> list[dict[str, Any]]:
    """The curves of all maps as rows: a row per map, algorithm (or run) and position; at most MOST_EXPORTED."""
    request, rows = compared.request, []
    if request.band == SINGLE:
        endless = (row for name in compared.comparison.maps for row in _single_rows(compared, name))
        return list(islice(endless, MOST_EXPORTED))
    for name in compared.comparison.maps:
        for band in shown_bands(compared, name):
            numbers = zip(band.x, band.center, band.low, band.high, band.n, strict=True)
            for x, center, low, high, n in numbers:
                values = {request.axis: x, request.band: center, "low": low, "high": high}
                texts = {key: None if value != value else float(value) for key, value in values.items()}
                rows.append({"map": name, "algorithm": band.label, "metric": request.metric, **texts, "n": int(n)})
            if len(rows) >= MOST_EXPORTED:
                return rows[:MOST_EXPORTED]
    return rows


def _single_rows(compared: Compared, map_name: str) -> Iterator[dict[str, Any]]:
    request = compared.request
    for run, curve in _single_curves(compared, map_name):
        about = {"map": map_name, "run": run.id, "algorithm": run.name, "seed": run.seed}
        x = curve.over(request.axis)
        for position, value in zip(x, curve.values, strict=True) if x is not None else ():
            known = float(value) if math.isfinite(value) else None
            yield {**about, "metric": request.metric, request.axis: float(position), "value": known}


def as_file(compared: Compared, form: str) -> dict[str, str]:
    """The curves as a file: "csv" or "json"."""
    rows = curve_rows(compared)
    if form == "json":
        return {"content": json.dumps(rows, indent=1), "filename": "curves.json"}
    return {"content": csv_text(list(rows[0]) if rows else ["map"], rows), "filename": "curves.csv"}
