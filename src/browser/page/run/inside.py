"""A run from inside, in its view: where its time went, its monitored values, and how it used its machine."""

from collections.abc import Mapping
from typing import Any

from dash import html

from browser.figures.inside import histogram_map, monitored_curve, time_flame
from browser.page.parts.components import card, graph, png_button, table
from browser.page.parts.limits import left_out
from browser.page.run.request import RunRequest
from records.diagnosis import Histogram, Summary, diagnosed
from records.diagnostics import MACHINE, MONITOR
from records.metric_rows import Rows

MOST_CURVES = 12
MOST_HISTOGRAMS = 24
FIGURE_HEIGHT = 220
_COLUMNS = {"mean": "mean", "std": "std", "min": "least", "max": "greatest", "last": "last"}


def draw(asked: RunRequest) -> html.Section | None:
    """None if the run has no log of diagnostics."""
    rows = asked.context.results.diagnostics(asked.run)
    if not rows:
        return None
    found = diagnosed(rows)
    parts: list[Any] = []
    if found.times:
        parts += [_head("Time", "inside-flame", "time"), graph(time_flame(found.times), "inside-flame")]
    curves = [(one, f"{MONITOR}/{one.name}/mean", f"{MONITOR}/{one.name}/std") for one in found.monitored if one.count]
    curves += [(one, f"{MACHINE}/{one.name}", "") for one in found.machine]
    for title, summaries in (("Monitored values", found.monitored), ("Machine", found.machine)):
        if summaries:
            grid = f"inside-{title.split()[0].lower()}"
            parts += [html.P(title, className="label"), table(grid, _columns(), [_row(one) for one in summaries])]
    drawn = curves[:MOST_CURVES]
    parts.append(html.Div([_curve(rows, k, *curve) for k, curve in enumerate(drawn)], className="cards"))
    if more := left_out("curves", curves, drawn):
        parts.append(html.P(more, className="note"))
    maps = found.histograms[:MOST_HISTOGRAMS]
    if maps:
        parts += [html.P("Histograms: the share of numbers of each size", className="label")]
        parts.append(html.Div([_histogram(one, k) for k, one in enumerate(maps)], className="cards"))
    if more := left_out("histograms", found.histograms, maps):
        parts.append(html.P(more, className="note"))
    return card("Inside", *parts)


def follows(asked: RunRequest) -> object:
    """What it shows."""
    return asked.context.results.stamp(asked.run, "diagnostics")


def _head(title: str, figure_id: str, file_name: str) -> html.Div:
    return html.Div([html.Span(title, className="label"), png_button(figure_id, file_name)], className="head")


def _columns() -> list[dict[str, Any]]:
    numbers = [{"field": name, "width": 110, "type": "rightAligned"} for name in ("count", *_COLUMNS, "not finite")]
    return [{"field": "name", "flex": 1, "minWidth": 180}, *numbers]


def _row(one: Summary) -> dict[str, Any]:
    figures = {name: f"{getattr(one, attribute):.4g}" for name, attribute in _COLUMNS.items()}
    return {"name": one.name, "count": one.count, **figures, "not finite": one.not_finite or None}


def _curve(rows: Mapping[str, Rows], index: int, one: Summary, mean: str, std: str) -> html.Div:
    figure = monitored_curve(rows[mean], rows.get(std))
    figure.update_layout(height=FIGURE_HEIGHT, margin={"t": 10, "b": 40})
    figure_id = f"inside-curve-{index}"
    return html.Div([_head(one.name, figure_id, one.name), graph(figure, figure_id)], key=mean)


def _histogram(one: Histogram, index: int) -> html.Div:
    figure = histogram_map(one)
    figure.update_layout(height=FIGURE_HEIGHT, margin={"t": 10, "b": 40})
    figure_id = f"inside-histogram-{index}"
    return html.Div([_head(one.name, figure_id, one.name), graph(figure, figure_id)], key=one.name)
