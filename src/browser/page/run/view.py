"""One run: the cards with its config, curves and files, which follow it."""

from itertools import groupby
from typing import Any

from dash import Dash, Input, Output, State, dcc, html, no_update
from dash.exceptions import PreventUpdate

from browser.page.parts.context import Context, revision_of
from browser.page.parts.frame import View
from browser.page.run.cards import CARDS
from browser.page.run.request import RunRequest

_LIVE = [card for card in CARDS if card.follows is not None]


def layout(context: Context, query: dict[str, str]) -> html.Div:
    """The run that an address names.

    Raises:
        UnknownRunError: no such run.
    """
    asked = RunRequest(context, context.run(query.get("run", "")), query)
    parts: list[Any] = []
    for narrow, cards in groupby(CARDS, key=lambda card: card.narrow):
        drawn = [html.Div(card.draw(asked), id=f"card-{card.name}", className="view") for card in cards]
        parts += [html.Div(drawn, className="cards thirds")] if narrow else drawn
    revisions = dcc.Store(id="run-revisions", data=_revisions(asked))
    return html.Div([*parts, dcc.Store(id="run-id", data=asked.run.id), revisions], className="view")


def register(app: Dash, context: Context) -> None:
    """Cards that follow something are drawn again; others have callbacks of their own, or none."""

    @app.callback(
        *(Output(f"card-{card.name}", "children") for card in _LIVE),
        Output("run-revisions", "data"),
        Input("tick", "n_intervals"),
        State("run-id", "data"),
        State("run-revisions", "data"),
        prevent_initial_call=True,
    )
    def follow(_: Any, run_id: Any, revisions: Any) -> tuple:
        return refreshed(context, str(run_id), revisions)

    for card in CARDS:
        if card.register is not None:
            card.register(app, context)


VIEW = View("/run", ("run", "metrics", "axis", "scale"), layout, register)


def refreshed(context: Context, run_id: str, revisions: Any) -> tuple:
    """The live cards, `no_update` for those that have not changed, and their revisions.

    Args:
        revisions: of the asking window's cards, by name.

    Raises:
        PreventUpdate: it shows all of them.
    """
    asked = RunRequest(context, context.run(run_id))
    now, old = _revisions(asked), revisions if isinstance(revisions, dict) else {}
    if now == old:
        raise PreventUpdate
    return *(card.draw(asked) if now[card.name] != old.get(card.name) else no_update for card in _LIVE), now


def _revisions(asked: RunRequest) -> dict[str, str]:
    return {card.name: revision_of(card.follows(asked)) for card in _LIVE if card.follows is not None}
