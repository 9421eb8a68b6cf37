"""The web application: a frame around the views, and the way from an address to a view."""

import logging
from pathlib import Path
from typing import Any

from dash import ClientsideFunction, Dash, Input, Output, html, set_props
from dash.development.base_component import Component
from flask import redirect, request
from werkzeug.wrappers import Response

from browser.page.parts import address
from browser.page.parts.components import notices
from browser.page.parts.context import Context
from browser.page.parts.frame import INDEX, frame, message
from browser.page.server.security import guard
from browser.page.views import VIEWS
from browser.reading import Results
from utils.errors import ConfigError, MusterError

_ASSETS = Path(__file__).parents[1] / "assets"


def create_app(root: Path, write: bool = False, token: str | None = None) -> Dash:
    """The page over a results folder, ready to be served.

    Args:
        root: the results folder.
        write: offer tags, notes, archiving and deleting.
        token: the secret that a browser needs; None answers to this machine's own names only.

    Raises:
        ConfigError: there is no such folder.
    """
    context = Context(Results(root), write)
    app = Dash(
        __name__,
        assets_folder=str(_ASSETS),
        pages_folder="",
        use_pages=False,
        include_pages_meta=False,
        serve_locally=True,
        suppress_callback_exceptions=True,
        update_title=None,  # type: ignore[arg-type]  # as Dash documents it
        title="Muster",
        index_string=INDEX,
        add_log_handler=False,
        enable_mcp=False,
        on_error=_report,
    )
    app.logger.setLevel(logging.ERROR)
    app.layout = frame(context, VIEWS)

    @app.callback(Output("view", "children"), Input("url", "pathname"), Input("url", "search"))
    def route(path: Any, search: Any) -> Component:
        return view_of(context, *(part if isinstance(part, str) else None for part in (path, search)))

    @app.server.get("/matrix")
    def renamed() -> Response:
        """Addresses of before lead to the results table."""
        return redirect(f"/results?{request.query_string.decode()}")

    app.clientside_callback(
        ClientsideFunction("muster", "address"), Output("nav", "data-address"), Input("address", "data")
    )
    app.clientside_callback(
        ClientsideFunction("muster", "here"),
        Output("nav", "data-here"),
        Input("url", "pathname"),
        Input("view", "children"),
    )
    app.clientside_callback(
        ClientsideFunction("muster", "pause"),
        Output("tick", "disabled"),
        Output("live", "className"),
        Output("live", "title"),
        Input("live", "n_clicks"),
    )
    for view in VIEWS:
        view.register(app, context)
    guard(app, token)
    return app


def view_of(context: Context, path: str | None, search: str | None) -> Component:
    """The view at an address; one that is wrong is answered in a sentence."""
    for view in VIEWS:
        if (path or "/") == view.path:
            query = address.parse(search)
            try:
                shown = view.layout(context, query)
            except ConfigError as error:
                return message("This does not exist", str(error))
            unknown = address.unknown(query, view.settings)
            return html.Div([notices(unknown), shown], className="view") if unknown else shown
    return message("There is no such page", "Choose one of the pages above.")


def _report(error: Exception) -> None:
    """Report a failed callback: a sentence on the page, and a traceback on the terminal if it is a bug."""
    said = str(error)
    if not isinstance(error, MusterError):
        logging.getLogger("browser").error("Part of the page failed.", exc_info=error)
        said = "Part of the page failed; see the terminal."
    set_props("notice", {"children": said})
