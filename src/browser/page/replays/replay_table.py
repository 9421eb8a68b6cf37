"""Replays as a table: what was played, and with which result."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from dash import dcc, html

from browser.page.parts import address
from browser.page.parts.context import Context
from browser.page.parts.limits import left_out, short
from browser.page.replays.replay_files import ReplayFile, ends

LISTED = 200
_OUTCOMES = {True: "won", False: "not won", None: ""}


def replay_table(
    context: Context, found: Sequence[ReplayFile], run: str = "", current: ReplayFile | None = None
) -> html.Div:
    """The first LISTED replays, each with a link.

    Args:
        run: the run whose replays they are, by which links name it; empty for those of several.
        current: the one that is open.
    """
    several = len({one.token for one in found}) > 1
    names = ["Replay", "Algorithm", "Map", "Seed", "Return", "Outcome", "Steps", "Recorded (UTC)", *["Run"] * several]
    rows = [_row(context, one, run, several, one == current) for one in found[:LISTED]]
    head = html.Thead(html.Tr([html.Th(name, scope="col") for name in names]))
    table = html.Table([head, html.Tbody(rows)], className="plain replays")
    more = left_out("replays", found, found[:LISTED])
    return html.Div([table, html.P(more, className="note") if more else None], className="replay-table", tabIndex="0")


def ghosts_of(context: Context, found: Sequence[ReplayFile], current: ReplayFile) -> list[dict[str, str]]:
    """Replays that can be drawn beside `current`: those among the first LISTED with a road and its scene's title.

    Returns:
        for each its `key` in the address, the `source` of its lines and a `label`.
    """
    place = _place(ends(context.results.files, current)[0])
    ghosts = []
    for one in found[:LISTED] if place else []:
        header, footer = ends(context.results.files, one)
        if one == current or _place(header) != place:
            continue
        algorithm = header.get("algorithm")
        name = algorithm.get("name") if isinstance(algorithm, dict) else header.get("env")
        label = " · ".join(filter(None, (_text(name), one.title, f"return {_number(footer.get('return')) or '?'}")))
        source = address.link("/replay/lines", {"run": one.token, "file": one.name})
        ghosts.append({"key": f"{one.token}/{one.name}", "source": source, "label": label})
    return ghosts


def _place(header: dict[str, Any]) -> tuple[str, str] | None:
    scene = header.get("scene")
    if not isinstance(scene, dict) or not isinstance(scene.get("road"), dict):
        return None
    return str(header.get("env")), str(scene.get("title"))


def _row(context: Context, one: ReplayFile, run: str, several: bool, current: bool) -> html.Tr:
    header, footer = ends(context.results.files, one)
    algorithm = header.get("algorithm")
    href = address.link("/replay", {"run": one.token if several or not run else run, "file": one.name})
    link = dcc.Link(one.title, href=href, title=one.name)
    here: dict[str, Any] = {"aria-current": "page"}
    name = html.Span(one.title, **here) if current else link
    won = footer.get("won") if isinstance(footer.get("won"), bool) else None
    cells = [
        name,
        _text(algorithm.get("name") if isinstance(algorithm, dict) else None),
        _text(header.get("map") or header.get("env")),
        _text(header.get("seed")),
        _number(footer.get("return")),
        _OUTCOMES[won] if footer else "not finished",
        _number(footer.get("length")),
        datetime.fromtimestamp(one.changed, UTC).strftime("%Y-%m-%d %H:%M"),
        *([short(one.token, 60)] if several else []),
    ]
    return html.Tr([html.Td(cell) for cell in cells], className="current" if current else "")


def _text(value: Any) -> str:
    return "" if value is None else short(str(value), 60)


def _number(value: Any) -> str:
    known = isinstance(value, int | float) and not isinstance(value, bool)
    return f"{value:.4g}" if known else ""
