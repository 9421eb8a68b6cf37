"""Hyperparameters against results: of a suite, a search, or any choice of runs."""

from typing import Any

import plotly.graph_objects as go
from dash import html
from dash.development.base_component import Component

from browser import cautions
from browser.comparison import SCORES, title_of_score
from browser.figures import value_title
from browser.figures.hyperparameters import MOST_WORDS, importance_bars, parallel_coordinates, setting_scatters
from browser.page.compare.comparison_view import ComparisonView, warnings
from browser.page.compare.request import MOST_SMOOTHING, SETTINGS, Compared, metric_options
from browser.page.parts.components import card, dropdown, field, graph, number, png_button, run_title
from browser.page.parts.filters import where_field
from browser.page.parts.frame import View
from browser.report.tables import csv_text
from browser.sweep import Sweep, sweep_of
from utils.plain_values import counted

PATH = "/hyperparameters"
# runs of which every point can be drawn
MOST_POINTS = 2000


def fields(compared: Compared) -> list[Component]:
    """The controls."""
    request = compared.request
    keys = dropdown(
        "hyperparameters-keys",
        compared.keys,
        list(request.keys),
        multi=True,
        searchable=True,
        clearable=True,
        placeholder="all in which the runs differ",
    )
    return [
        field("Statistic", dropdown("hyperparameters-metric", metric_options(compared.metrics), request.metric), True),
        field("Score of a run", dropdown("hyperparameters-score", SCORES, request.score)),
        field("Last values", number("hyperparameters-last", request.last, 1, MOST_SMOOTHING)),
        field("Keys", keys, wide=True),
        field(
            "Coloured by",
            dropdown("hyperparameters-group", compared.keys, list(request.group), multi=True, searchable=True),
            wide=True,
        ),
        where_field("hyperparameters-where", request.where),
    ]


def draw(compared: Compared) -> tuple[Any, list[Any], list[Any]]:
    """Cautions, the bar, and the figures."""
    request, found = compared.request, _sweep(compared)
    warned = warnings(cautions.of_metric(compared.comparison, request.metric), request, PATH)
    if not found.runs:
        return warned, [], [card("No values", html.P(f"None of these runs has a value of {request.metric or 'any'}."))]
    bar = [
        html.Span(f"{counted(len(found.runs), 'run')} with a score", className="count"),
        html.Span(className="gap"),
        html.Button("CSV", id="hyperparameters-csv", className="small"),
    ]
    if not found.settings:
        same = (
            "These runs have the same settings, but for their seeds: a suite's grid or a search has runs that differ."
        )
        return warned, bar, [card("No hyperparameters", html.P(same))]
    score = (
        f"{value_title(request.metric)}, {title_of_score(request.metric, request.score, request.last, request.step)}"
    )
    title = "Score, scaled by map" if found.scaled else value_title(request.metric)
    runs = found.runs[:MOST_POINTS]
    settings = {key: values[:MOST_POINTS] for key, values in found.settings.items()}
    scores, names = found.scores[:MOST_POINTS], [run_title(run) for run in runs]
    lines = parallel_coordinates(settings, scores, title, names)
    points = setting_scatters(settings, scores, title, found.labels[:MOST_POINTS], names, compared.comparison.labels())
    notes = [f"Score of a run: {score}."]
    if found.scaled:
        notes.append("The runs are on several maps, so scores are scaled: on every map the lowest is 0, the highest 1.")
    if found.left_out:
        notes.append(f"{counted(found.left_out, 'key')} that explain less are left out; choose any above.")
    if len(found.runs) > MOST_POINTS:
        notes.append(f"The first {MOST_POINTS:,} runs are drawn; the shares below are over all.")
    explained = (
        "How much of the scores' variance the values of a key explain alone (ε²: the correlation ratio, less what "
        "chance gives). Keys that vary together share what they explain; what two do only together is not seen."
    )
    notes.append(f"The filter keeps some of the runs. Keys of more than {MOST_WORDS} words have no axis.")
    bars = importance_bars(found.importances)
    cards = [
        _card("Parallel coordinates", " ".join(notes), lines, "h-lines", "parallel_coordinates"),
        _card("Importance", explained, bars, "h-bars", "importance"),
        _card("Each key", "", points, "h-points", "hyperparameters"),
    ]
    return warned, bar, cards


def _card(title: str, note: str, figure: go.Figure, figure_id: str, file_name: str) -> html.Section:
    said = html.P(note, className="note") if note else None
    return card(title, said, graph(figure, figure_id), tools=[png_button(figure_id, file_name)])


def as_file(compared: Compared) -> dict[str, str]:
    """The runs with their settings and scores as CSV."""
    found = _sweep(compared)
    rows = [
        {"run": run.id, "seed": run.seed, **{key: values[k] for key, values in found.settings.items()},
         "score": float(found.scores[k])}
        for k, run in enumerate(found.runs)
    ]  # fmt: skip
    return {"content": csv_text(["run", "seed", *found.settings, "score"], rows), "filename": "hyperparameters.csv"}


def _sweep(compared: Compared) -> Sweep:
    request = compared.request
    return sweep_of(compared.comparison, request.metric, request.score, request.last, request.step, request.keys)


HYPERPARAMETERS = ComparisonView(
    name="hyperparameters",
    path=PATH,
    controls=("metric", "score", "last", "keys", "group", "where"),
    fields=fields,
    parts={"cautions": "", "bar": "bar", "figures": "view"},
    draw=draw,
    files={"csv": as_file},
)
VIEW = View(PATH, SETTINGS, HYPERPARAMETERS.layout, HYPERPARAMETERS.register, "Hyperparameters")
