"""The output of a run."""

from typing import Any

from dash import ClientsideFunction, Dash, Input, Output, State, dcc, html
from dash.exceptions import PreventUpdate

from browser.page.parts.components import card
from browser.page.parts.context import Context, revision_of
from browser.page.run.request import RunRequest


def draw(asked: RunRequest) -> html.Section:
    """The end of it; the browser scrolls down with it, see assets/muster.js."""
    text, revision = refreshed(asked.context, asked.run.id)
    return card(
        "Console", html.Pre(text, id="run-console", tabIndex="0"), dcc.Store(id="run-console-revision", data=revision)
    )


def register(app: Dash, context: Context) -> None:
    """It follows the run; only its text changes, so that it keeps its place."""

    @app.callback(
        Output("run-console", "children"),
        Output("run-console-revision", "data"),
        Input("tick", "n_intervals"),
        State("run-id", "data"),
        State("run-console-revision", "data"),
        prevent_initial_call=True,
    )
    def follow(_: Any, run_id: Any, revision: Any) -> tuple[str, str]:
        return refreshed(context, str(run_id), revision)

    app.clientside_callback(
        ClientsideFunction("muster", "tail"), Output("run-console", "data-tail"), Input("run-console", "children")
    )


def refreshed(context: Context, run_id: str, revision: Any = None) -> tuple[str, str]:
    """The text and its revision.

    Raises:
        PreventUpdate: the asking window shows it.
    """
    run = context.run(run_id)
    now = revision_of(context.results.stamp(run, "output"))
    if now == revision:
        raise PreventUpdate
    return context.results.log_text(run) or "Nothing was printed.", now
