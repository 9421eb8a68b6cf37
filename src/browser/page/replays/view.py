"""Replay: an episode as it was recorded, drawn in the browser (assets/replay.js)."""

import json
from typing import Any

from dash import dcc, html

from browser.page.parts import address
from browser.page.parts.context import Context
from browser.page.parts.frame import View, message
from browser.page.replays.replay_files import ReplayFile, all_replays, register_lines, replays_of, token_of
from browser.page.replays.replay_table import ghosts_of, replay_table
from utils.colours import OF_REPLAYS
from utils.errors import ConfigError
from utils.nearest import suggestion
from utils.own_commands import as_typed

PATH = "/replay"
# the script reads and writes those after the first two
SETTINGS = ("run", "file", "step", "agent", "speed", "ghost", "trails", "actions", "smooth", "fit", "zoom")


def layout(context: Context, query: dict[str, str]) -> html.Div:
    """The view for an address: `run` (an id or a token) and `file`; by default the newest replay.

    Raises:
        ConfigError: there is no such run, or it has no such replay.
    """
    run = query.get("run", "")
    found = replays_of(context, run) if run else all_replays(context)
    if not found:
        return message(
            "No replays", as_typed("save_replay=True records a run's last test; src/watch.py plays a saved model.")
        )
    current = _chosen(found, token_of(context, run) if run else "", query.get("file", ""))
    ghosts = json.dumps(ghosts_of(context, all_replays(context), current))
    source = address.link("/replay/lines", {"run": current.token, "file": current.name})
    data: dict[str, Any] = {"data-source": source, "data-ghosts": ghosts, "data-colours": json.dumps(OF_REPLAYS)}
    return html.Div(
        [
            html.H1("Replay"),
            replay_table(context, found, run, current),
            dcc.Link("replays of all runs", href=PATH) if run else None,
            html.Div(id="replay", className="replay", **data),
        ]
    )


def _chosen(found: list[ReplayFile], token: str, name: str) -> ReplayFile:
    """The newest; of those with a name, the run's own before those that were played later."""
    matching = [one for one in found if one.name == name]
    if not name:
        return found[0]
    if not matching:
        known = [one.name for one in found]
        raise ConfigError(f"There is no replay '{name[:100]}' of this run.{suggestion(name[:100], known, limit=3)}")
    return next((one for one in matching if one.token == token), matching[0])


VIEW = View(PATH, SETTINGS, layout, register_lines, "Replays")
