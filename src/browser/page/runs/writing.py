"""Writing, if browse.py was started with --write: tags and notes, archiving, deleting to the bin."""

from dataclasses import replace
from typing import Any

from dash import Dash, Input, Output, State, ctx, dcc, html, no_update
from dash.exceptions import PreventUpdate

from browser.page.parts.components import card, field
from browser.page.parts.context import Context
from browser.page.parts.notes import LONGEST_NOTE, NONE, NotWrittenError, tags_of
from browser.page.runs.bin import move_to_bin
from browser.reading import Run

# what the button offers
ARCHIVE, RESTORE = "Archive", "Restore from the archive"


def writing_card(context: Context, run: Run) -> html.Section | None:
    """A run's tags and note: editable with --write, read-only without it, omitted if empty."""
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


def register_writing(app: Dash, context: Context) -> None:
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
