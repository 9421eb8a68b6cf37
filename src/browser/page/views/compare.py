"""Compare."""

from dash import Dash, html

from browser.page.context import Context

PATH = "/compare"
TITLE = "Compare"


def layout(context: Context, query: dict[str, str]) -> html.Div:
    """The view for an address."""
    return html.Div(html.H1(TITLE))


def register(app: Dash, context: Context) -> None:
    """Its callbacks."""
