"""Curves of a run: a small figure for each chosen statistic."""

from typing import Any

from dash import Dash, Input, Output, State, dcc, html
from dash.exceptions import PreventUpdate

from browser.figures import metric_title, run_curves
from browser.page.compare.curves import on_scale
from browser.page.compare.request import AXIS_TITLES, LINEAR, SCALES, metric_options
from browser.page.parts import address
from browser.page.parts.components import card, dropdown, field, graph, notices, png_button
from browser.page.parts.context import Context, revision_of
from browser.page.parts.frame import follow_address
from browser.page.parts.limits import MOST_ASKED, MOST_MESSAGES
from browser.page.run.request import RunRequest
from browser.reading import Run
from utils.nearest import suggestion

MOST_METRICS = 12
FIGURE_HEIGHT = 260


def draw(asked: RunRequest) -> html.Section:
    """The controls, and the figures that the address asks for."""
    context, run, wrong = asked.context, asked.run, list[str]()
    known = context.results.metric_keys(run)
    metrics = _asked_metrics(known, address.names(asked.query, "metrics"), wrong)
    axis = address.choice(asked.query, "axis", AXIS_TITLES, "steps", wrong)
    scale = address.choice(asked.query, "scale", SCALES, LINEAR, wrong)
    figures, own, revision = refreshed(context, run.id, metrics, axis, scale=scale)
    controls = [
        field("Statistics", dropdown("run-metrics", metric_options(known), metrics, multi=True), wide=True),
        field("Over", dropdown("run-axis", AXIS_TITLES, axis)),
        field("Axes", dropdown("run-scale", SCALES, scale)),
    ]
    return card(
        "Curves",
        notices(wrong),
        html.Div(controls, className="controls"),
        html.Div(figures, id="run-figures", className="cards linked"),
        dcc.Store(id="run-address", data=own),
        dcc.Store(id="run-figures-revision", data=revision),
    )


def register(app: Dash, context: Context) -> None:
    """The figures follow the run and the controls, which stay as they are."""
    follow_address(app, "run-address")

    @app.callback(
        Output("run-figures", "children"),
        Output("run-address", "data"),
        Output("run-figures-revision", "data"),
        Input("tick", "n_intervals"),
        Input("run-metrics", "value"),
        Input("run-axis", "value"),
        Input("run-scale", "value"),
        State("run-id", "data"),
        State("run-figures-revision", "data"),
        prevent_initial_call=True,
    )
    def follow(_: Any, metrics: Any, axis: Any, scale: Any, run_id: Any, revision: Any) -> tuple[list, str, str]:
        return refreshed(context, str(run_id), metrics, axis, revision, scale)


def refreshed(
    context: Context, run_id: str, metrics: Any, axis: Any, revision: Any = None, scale: Any = LINEAR
) -> tuple[list, str, str]:
    """The figures, the address and their revision; of the controls' values any are taken.

    Raises:
        PreventUpdate: the asking window has this revision.
    """
    run = context.run(run_id)
    now = revision_of((metrics, axis, scale, context.results.stamp(run, "curves")))
    if now == revision:
        raise PreventUpdate
    known = context.results.metric_keys(run)
    chosen = _asked_metrics(known, address.texts_in(metrics), [])
    axis = axis if isinstance(axis, str) and axis in AXIS_TITLES else "steps"
    scale = scale if isinstance(scale, str) and scale in SCALES else LINEAR
    query = {
        "run": run.id,
        "metrics": [] if chosen == _asked_metrics(known, [], []) else chosen,
        "axis": "" if axis == "steps" else axis,
        "scale": "" if scale == LINEAR else scale,
    }
    return _figures(context, run, chosen, axis, scale), address.link("/run", query), now


def _figures(context: Context, run: Run, metrics: list[str], axis: str, scale: str) -> list:
    curves = context.results.curves(run, metrics)
    figures = []
    for index, key in enumerate(metrics):
        if key not in curves:
            continue
        figure = run_curves({run.id: curves[key]}, key, axis)
        if not figure.data:
            continue
        figure.update_layout(height=FIGURE_HEIGHT, showlegend=False, margin={"t": 10, "b": 40})
        on_scale(figure, scale).update_yaxes(title_text="")
        figure_id = f"run-curve-{index}"
        head = html.Div([html.Span(metric_title(key), className="label"), png_button(figure_id, key)], className="head")
        figures.append(html.Div([head, graph(figure, figure_id)], key=key))
    return figures or [html.P("Nothing was logged on this axis.", className="note")]


def _asked_metrics(known: list[str], names: list[str], wrong: list[str]) -> list[str]:
    for name in names[:MOST_ASKED]:
        if name not in known and len(wrong) < MOST_MESSAGES:
            wrong.append(f"This run has no statistic '{name[:100]}'.{suggestion(name[:100], known, limit=5)}")
    asked = [name for name in dict.fromkeys(names) if name in known][:MOST_METRICS]
    # a game whose exploitability is known is one of which the mean return says nothing
    usual = ("test_exploitability", "test_return_mean", "test_battle_won_mean", "return_mean", "loss")
    return asked or [key for key in usual if key in known][:3] or known[:2]
