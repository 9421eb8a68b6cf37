"""One run: its config, curves and files."""

import hashlib
from typing import Any

from dash import ClientsideFunction, Dash, Input, Output, State, dcc, html, no_update

from browser.figures import metric_title, run_curves
from browser.page.compare.comparing import AXES, metric_options
from browser.page.parts import address
from browser.page.parts.components import card, dropdown, field, graph, notices, png_button, run_title, status_badge
from browser.page.parts.context import Context
from browser.page.parts.frame import follow_address
from browser.page.parts.limits import MOST_ASKED, MOST_MESSAGES
from browser.page.run import run_parts
from browser.page.run.inside import inside_card, inside_digest, register_inside
from browser.page.run.run_files import left_behind, register_files, shown_artifacts
from browser.page.runs.writing import register_writing, writing_card
from browser.reading import Run
from utils.nearest import suggestion

PATH = "/run"
TITLE = "Run"
SETTINGS = ("run", "metrics", "axis")

MOST_METRICS = 12
FIGURE_HEIGHT = 260


def layout(context: Context, query: dict[str, str]) -> html.Div:
    """The run that an address names.

    Raises:
        UnknownRunError: no such run.
    """
    wrong: list[str] = []
    run = context.run(query.get("run", ""))
    known = context.results.metric_keys(run)
    metrics = _asked_metrics(known, address.names(query, "metrics"), wrong)
    axis = address.choice(query, "axis", AXES, "steps", wrong)
    trace = next((session.fail_trace for session in reversed(run.sessions) if session.fail_trace), "")
    alike = address.link("/compare", {"runs": [one.id for one in _repetitions(context, run)]})
    title = [
        html.H1(run_title(run)),
        html.Span(status_badge(run.status_at()), id="run-status"),
        html.Span(className="gap"),
        dcc.Link("Compare with its other seeds", href=alike),
    ]
    controls = [
        field("Statistics", dropdown("run-metrics", metric_options(known), metrics, multi=True), wide=True),
        field(
            "Over",
            dropdown(
                "run-axis",
                {"steps": "environment steps", "episodes": "episodes", "seconds": "wall-clock", "updates": "updates"},
                axis,
            ),
        ),
    ]
    figures, figures_digest = drawn(context, run, metrics, axis)
    console = context.results.log_text(run)
    return html.Div(
        [
            html.Div(title, className="title"),
            notices(wrong),
            html.Div(
                [
                    run_parts.overview(run),
                    html.Div(run_parts.timing(context, run), id="run-timing"),
                    run_parts.machine(run.newest),
                ],
                className="cards thirds",
            ),
            card("Crash", html.Pre(trace, className="trace")) if trace else None,
            run_parts.sessions(run),
            card(
                "Curves",
                html.Div(controls, className="controls"),
                html.Div(figures, id="run-figures", className="cards"),
            ),
            html.Div(inside_card(context, run), id="run-inside", className="view"),
            writing_card(context, run),
            card("Console", html.Pre(console or "Nothing was printed.", id="run-console", tabIndex="0")),
            html.Div(
                _files_and_replays(context, run),
                id="run-files-and-replays",
                className="view",
            ),
            run_parts.panel(run.newest),
            run_parts.config(run.newest),
            dcc.Store(id="run-id", data=run.id),
            dcc.Store(id="run-address", data=_address(context, run, metrics, axis)),
            dcc.Store(id="run-inside-digest", data=inside_digest(context, run)),
            dcc.Store(id="run-digest", data=[figures_digest, _digest(console), _files_digest(context, run)]),
        ],
        className="view",
    )


def register(app: Dash, context: Context) -> None:
    """Its callbacks."""
    follow_address(app, "run-address")

    @app.callback(
        Output("run-figures", "children"),
        Output("run-address", "data"),
        Input("run-metrics", "value"),
        Input("run-axis", "value"),
        State("run-id", "data"),
        prevent_initial_call=True,
    )
    def change(metrics: Any, axis: Any, run_id: Any):
        return changed(context, str(run_id), metrics, axis)

    @app.callback(
        Output("run-status", "children"),
        Output("run-timing", "children"),
        Output("run-figures", "children", allow_duplicate=True),
        Output("run-console", "children"),
        Output("run-files-and-replays", "children"),
        Output("run-digest", "data"),
        Input("tick", "n_intervals"),
        State("run-id", "data"),
        State("run-digest", "data"),
        State("run-metrics", "value"),
        State("run-axis", "value"),
        prevent_initial_call=True,
    )
    def follow(_: Any, run_id: Any, digests: Any, metrics: Any, axis: Any):
        return news(context, str(run_id), digests, metrics, axis)

    app.clientside_callback(
        ClientsideFunction("muster", "tail"), Output("run-console", "data-tail"), Input("run-console", "children")
    )
    register_inside(app, context)
    register_writing(app, context)
    register_files(app.server, context)


def changed(context: Context, run_id: str, metrics: Any, axis: Any) -> tuple[list, str]:
    """After a control was changed: the figures, and the address."""
    run = context.run(run_id)
    chosen, axis = _controls(context, run, metrics, axis)
    figures, _ = drawn(context, run, chosen, axis)
    return figures, _address(context, run, chosen, axis)


def news(context: Context, run_id: str, digests: Any, metrics: Any, axis: Any) -> tuple:
    """The changed parts since the digests were made, and the new digests; `no_update` for the rest."""
    run = context.run(run_id)
    old = digests if isinstance(digests, list) and len(digests) == 3 else ["", "", ""]
    chosen, axis = _controls(context, run, metrics, axis)
    figures, figures_digest = drawn(context, run, chosen, axis)
    console = context.results.log_text(run)
    new = [figures_digest, _digest(console), _files_digest(context, run)]
    if new == old:
        return (no_update,) * 6
    files = _files_and_replays(context, run)
    return (
        status_badge(run.status_at()),
        run_parts.timing(context, run),
        figures if new[0] != old[0] else no_update,
        console if new[1] != old[1] else no_update,
        files if new[2] != old[2] else no_update,
        new,
    )


def drawn(context: Context, run: Run, metrics: list[str], axis: str) -> tuple[list, str]:
    """A small figure per statistic, and a digest of them."""
    curves = context.results.curves(run, metrics)
    figures, digest = [], hashlib.sha256()
    for index, key in enumerate(metrics):
        if key not in curves:
            continue
        figure = run_curves({run.id: curves[key]}, key, axis)
        if not figure.data:
            continue
        figure.update_layout(height=FIGURE_HEIGHT, showlegend=False, margin={"t": 10, "b": 40})
        figure.update_yaxes(title_text="")
        digest.update(figure.to_json().encode())
        figure_id = f"run-curve-{index}"
        head = html.Div([html.Span(metric_title(key), className="label"), png_button(figure_id, key)], className="head")
        figures.append(html.Div([head, graph(figure, figure_id)], key=key))
    return figures or [html.P("Nothing was logged on this axis.", className="note")], digest.hexdigest()


def _controls(context: Context, run: Run, metrics: Any, axis: Any) -> tuple[list[str], str]:
    names = [name for name in metrics if isinstance(name, str)] if isinstance(metrics, list) else []
    known = context.results.metric_keys(run)
    return _asked_metrics(known, names, []), axis if isinstance(axis, str) and axis in AXES else "steps"


def _asked_metrics(known: list[str], names: list[str], wrong: list[str]) -> list[str]:
    for name in names[:MOST_ASKED]:
        if name not in known and len(wrong) < MOST_MESSAGES:
            wrong.append(f"This run has no statistic '{name[:100]}'.{suggestion(name[:100], known, limit=5)}")
    asked = [name for name in dict.fromkeys(names) if name in known][:MOST_METRICS]
    usual = ("test_return_mean", "test_battle_won_mean", "return_mean", "loss")
    return asked or [key for key in usual if key in known][:3] or known[:2]


def _address(context: Context, run: Run, metrics: list[str], axis: str) -> str:
    usual = metrics == _asked_metrics(context.results.metric_keys(run), [], [])
    query = {"run": run.id, "metrics": [] if usual else metrics, "axis": "" if axis == "steps" else axis}
    return address.link(PATH, query)


def _repetitions(context: Context, run: Run) -> list[Run]:
    """The runs of the same algorithm on the same map."""
    newest = run.newest
    what = (newest.name, newest.environment, newest.map_name)
    runs = context.runs()
    return [one for one in runs if (one.name, one.environment, one.map_name) == what]


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _files_and_replays(context: Context, run: Run) -> list:
    return [shown_artifacts(context, run), left_behind(context, run), run_parts.replays(context, run)]


def _files_digest(context: Context, run: Run) -> str:
    # records grow all the time
    files = [str(file.path) for file in context.results.files_of(run) if file.kind != "record"]
    return _digest("\n".join([run.status_at(), *(session.id for session in run.sessions), *files]))
