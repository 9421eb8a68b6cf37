"""Writing, if browse.py was started with --write: tags and notes, archiving, deleting to the bin.

The bin is a hidden folder beside the runs, from which a run can be moved back by hand.
"""

import json
import os
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from dash import Dash, Input, Output, State, ctx, dcc, html, no_update
from dash.exceptions import PreventUpdate

from browser.page.parts.components import card, field
from browser.page.parts.context import Context
from browser.page.parts.notes import LONGEST_NOTE, NONE, NotWrittenError, tags_of
from browser.page.run.request import RunRequest
from browser.reading import Run
from browser.reading.files import inside, is_file_name
from records.layout import NAMED_BY_TOKEN

BIN = ".bin"
# what the button offers
ARCHIVE, RESTORE = "Archive", "Restore from the archive"


def draw(asked: RunRequest) -> html.Section | None:
    """A run's tags and note: editable with --write, read-only without it, omitted if empty."""
    context, run = asked.context, asked.run
    note = context.notes.of(run)
    if not context.write:
        if note == NONE:
            return None
        tags = [html.Span(tag, className="badge quiet") for tag in note.tags]
        return card("Notes", html.P(tags), html.P(note.text, className="note-text"))
    return card(
        "Notes",
        html.Div(
            [
                field("Tags, separated by commas", dcc.Input(id="note-tags", value=", ".join(note.tags)), wide=True),
                field("Note", dcc.Textarea(id="note-text", value=note.text, maxLength=LONGEST_NOTE), wide=True),
            ],
            className="controls",
        ),
        html.Span("archived" if note.archived else "", id="note-state", className="count"),
        tools=[
            html.Button("Save", id="note-save", className="primary"),
            html.Button(RESTORE if note.archived else ARCHIVE, id="note-archive"),
            dcc.ConfirmDialogProvider(
                html.Button("Delete", className="danger"),
                id="note-delete",
                message="Move this run with its models, checkpoints and replays to the bin?",
            ),
        ],
    )


def register(app: Dash, context: Context) -> None:
    """The callbacks of that card, with --write only."""
    if not context.write:
        return

    @app.callback(
        Output("note-state", "children"),
        Output("note-archive", "children"),
        Output("url", "pathname", allow_duplicate=True),
        Output("url", "search", allow_duplicate=True),
        Input("note-save", "n_clicks"),
        Input("note-archive", "n_clicks"),
        Input("note-delete", "submit_n_clicks"),
        State("run-id", "data"),
        State("note-tags", "value"),
        State("note-text", "value"),
        State("note-archive", "children"),
        prevent_initial_call=True,
    )
    def write(saved: Any, archived: Any, deleted: Any, run_id: Any, tags: Any, text: Any, offered: Any):
        if not (saved or archived or deleted) or ctx.triggered_id is None:
            raise PreventUpdate
        return written(
            context, str(ctx.triggered_id), str(run_id), str(tags or ""), str(text or ""), offered != RESTORE
        )


def written(
    context: Context, action: str, run_id: str, tags: str, text: str, archive: bool = True
) -> tuple[Any, Any, Any, Any]:
    """Carry out "note-save", "note-archive" or "note-delete".

    Args:
        archive: what the button of this window offered: archiving, or restoring. Another window may have done it.

    Returns:
        what to say, the archive button's text, and where to go: path and query.

    Raises:
        UnknownRunError: there is no such run.
        NotWrittenError: writing is not allowed here, or it failed.
    """
    if not context.write:
        raise NotWrittenError("This page is read-only; start browse.py with --write to change things.")
    run = context.run(run_id)
    note = context.notes.of(run)
    if action == "note-delete":
        move_to_bin(context.root, run)
        context.forget_scan()
        return no_update, no_update, "/", ""
    if action == "note-archive":
        note = replace(note, archived=archive)
    else:
        note = replace(note, tags=tags_of(tags), text=text[:LONGEST_NOTE])
    context.notes.write(run, note)
    said, offered = ("archived", RESTORE) if note.archived else ("saved", ARCHIVE)
    return said, offered, no_update, no_update


def move_to_bin(root: Path, run: Run) -> Path:
    """Move all that a run left, of all its sessions, to a new folder in the bin, and return that.

    Its file moved.json lists the former places. Nothing is deleted.

    Raises:
        NotWrittenError: the run is still running, or it cannot be moved; what was moved by then is moved back.
        OutsideResultsError: something of the run lies outside the results folder, or the bin is a link.
    """
    if any(session.status_at() == "RUNNING" for session in run.sessions):
        raise NotWrittenError("This run is still running; stop it before deleting it.")
    folders = [session.folder for session in run.sessions if session.folder is not None]
    if run.token and is_file_name(run.token):
        folders += [Path(part, run.token) for part in NAMED_BY_TOKEN]
    there = [folder for folder in folders if inside(root, folder).is_dir() and not (root / folder).is_symlink()]
    if any(inside(root, folder) == root for folder in there):
        raise NotWrittenError("This run is the whole results folder; delete it by hand.")
    place = inside(root, BIN) / f"{datetime.now(UTC):%Y-%m-%d_%H-%M-%S-%f}"
    moved: list[Path] = []
    try:
        for folder in there:
            target = place / folder
            target.parent.mkdir(parents=True, exist_ok=True)
            os.rename(root / folder, target)
            moved.append(folder)
        place.mkdir(parents=True, exist_ok=True)
        (place / "moved.json").write_text(json.dumps([str(folder) for folder in moved], indent=1), encoding="utf-8")
    except OSError as error:
        for folder in reversed(moved):
            os.rename(place / folder, root / folder)
        raise NotWrittenError(f"The run could not be moved to {place}: {error.strerror}.") from None
    return place
