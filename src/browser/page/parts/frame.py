"""The frame of every view: the bar at the top, the place of notices, and the clock of live views."""

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass

from dash import ClientsideFunction, Dash, Input, Output, dcc, html
from dash.development.base_component import Component

from browser.page.parts.context import Context

# milliseconds between polls
TICK = 2000

INDEX = """<!DOCTYPE html>
<html lang="en">
<head>
{%metas%}
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{%title%}</title>
<link rel="icon" type="image/svg+xml" href="/assets/favicon.svg">
{%css%}
</head>
<body>
{%app_entry%}
<footer>{%config%}{%scripts%}{%renderer%}</footer>
</body>
</html>"""


@dataclass(frozen=True)
class View:
    """A view of the page.

    Attributes:
        path: its address.
        settings: the names in its address.
        layout: makes it from the folder and the address's query; a ConfigError is answered in a sentence.
        register: its callbacks.
        title: in the bar; empty for none.
    """

    path: str
    settings: Collection[str]
    layout: Callable[[Context, dict[str, str]], Component]
    register: Callable[[Dash, Context], None]
    title: str = ""


def frame(context: Context, views: Iterable[View]) -> html.Div:
    """The page without a view; `view` is filled from the address.

    Views write their state to the store `address`, as a path with its query: the browser's address line then follows,
    and the links of the bar keep the choice of runs.
    """
    links = [
        dcc.Link(one.title, href=one.path, className="nav", id=f"nav-{one.title.split()[0].lower()}")
        for one in views
        if one.title
    ]
    return html.Div(
        [
            dcc.Location(id="url", refresh=False),
            dcc.Store(id="address"),
            dcc.Interval(id="tick", interval=TICK),
            html.Header(
                [
                    dcc.Link([html.Span(className="logo"), "Muster"], href="/", className="brand"),
                    html.Nav(links, id="nav"),
                    html.Span(html.Bdi(str(context.root)), className="folder", title="results folder"),
                    html.Button([html.Span(className="dot"), html.Span(className="word")], id="live", className="live"),
                ]
            ),
            html.Div(id="notice", className="notice", role="status"),
            html.Main(html.Div("Loading runs …", className="empty"), id="view"),
        ]
    )


def message(title: str, text: str) -> html.Div:
    """A view that has nothing to show but a sentence."""
    return html.Div([html.H1(title), html.P(text), dcc.Link("To the runs", href="/")], className="empty")


def follow_address(app: Dash, store: str) -> None:
    """Let the address line follow a view's store, from the moment that the view is shown."""
    app.clientside_callback(
        ClientsideFunction("muster", "same"),
        Output("address", "data", allow_duplicate=True),
        Input(store, "data"),
        prevent_initial_call="initial_duplicate",
    )
