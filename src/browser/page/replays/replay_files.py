"""Which replays a run has, and their bytes, from any place on."""

import os
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, BinaryIO

from dash import Dash
from flask import Response, request

from browser.page.parts.answers import file_answer, refusal
from browser.page.parts.context import Context
from browser.reading import UnknownRunError
from browser.reading.files import ResultsFiles, entries_of, is_file_name, subfolders
from browser.reading.json_files import parse
from records.layout import REPLAYS
from utils.nearest import did_you_mean

SUFFIX = ".jsonl"
# bytes; an episode of 27m_vs_30m takes a few million, and a browser must hold it
LARGEST_REPLAY = 2**28
LONGEST_HEADER = 1 << 20
# at the end of a file, in which its last line is looked for
_FOOTER = 1 << 16


@dataclass(frozen=True)
class ReplayFile:
    """`<results>/replays/<token>/<name>`."""

    token: str
    name: str
    changed: float

    @property
    def title(self) -> str:
        """`120000_0.jsonl` is episode 0 after 120,000 steps."""
        step, _, episode = self.name.removesuffix(SUFFIX).rpartition("_")
        if step.isdecimal() and episode.isdecimal():
            return f"{int(step):,} steps, episode {int(episode)}"
        return self.name


def replays_of(context: Context, run: str) -> list[ReplayFile]:
    """The replays of a run, and those that were played later with its models; the newest first.

    Args:
        run: a run's id, or a token, also of models that src/watch.py has played without a record.

    Raises:
        UnknownRunError: there is no such run.
    """
    token, tokens = token_of(context, run), subfolders(context.root, REPLAYS)
    recorded = {session.token for one in context.runs() for session in one.sessions}
    # what a run with a record has played is its own, also if it loaded another run's models to evaluate them
    trained = token if token in recorded else origin_of(context, token)
    later = [one for one in tokens if one not in recorded and one != trained and origin_of(context, one) == trained]
    return _newest_first([file for one in (trained, *later) for file in _in_folder(context, one)])


def all_replays(context: Context) -> list[ReplayFile]:
    """The replays of all runs, the newest first."""
    return _newest_first([one for token in subfolders(context.root, REPLAYS) for one in _in_folder(context, token)])


def token_of(context: Context, run: str) -> str:
    """The token of the run with this id; a token is its own. Empty if the run has none.

    Raises:
        UnknownRunError: there is no such run.
    """
    try:
        return context.run(run).token or ""
    except UnknownRunError:
        tokens = subfolders(context.root, REPLAYS)
        recorded = {session.token for one in context.runs() for session in one.sessions}
        if run in recorded or run in tokens:
            return run
        name = run[:200]
        raise UnknownRunError(f"There is no run '{name}' in this folder.{did_you_mean(name, tokens)}") from None


def origin_of(context: Context, token: str) -> str:
    """Whose models were played under this token: that of another run, or itself."""
    files = _in_folder(context, token)
    if not files:
        return token
    found = ends(context.results.files, files[-1])[0].get("checkpoint_path")
    path = Path(found if isinstance(found, str) else "")
    # <results>/models/<token>, or <results>/runs/<token>/checkpoints
    name = path.parent.name if path.name == "checkpoints" else path.name
    return name if is_file_name(name) else token


@lru_cache(maxsize=4096)
def ends(files: ResultsFiles, one: ReplayFile) -> tuple[dict[str, Any], dict[str, Any]]:
    """The header and the footer of a replay, as of its last change; {} for a missing one."""
    try:
        with files.open(REPLAYS, one.token, one.name) as file:
            first = file.readline(LONGEST_HEADER)
        last = files.end(_FOOTER, REPLAYS, one.token, one.name).rstrip(b"\n").rpartition(b"\n")[2]
    except OSError:
        return {}, {}
    header = parse(first).value if first.endswith(b"\n") else None
    footer = parse(last).value if len(last) < _FOOTER else None
    ended = footer if isinstance(footer, dict) and footer.get("type") == "footer" else {}
    return header if isinstance(header, dict) else {}, ended


def open_replay(context: Context, token: str, name: str) -> BinaryIO:
    """The file, opened for reading.

    Raises:
        OSError: no such replay, or it must not be read; `strerror` says which.
    """
    if is_file_name(token) and is_file_name(name) and name.endswith(SUFFIX):
        return context.results.files.open(REPLAYS, token, name, largest=LARGEST_REPLAY)
    raise FileNotFoundError(None, "it is not the name of a replay")


def register_lines(app: Dash, context: Context) -> None:
    """Serve `/replay/lines?run=<token>&file=&from=`: the file's bytes from there on, as far as it is written now.

    `/replay/folder` returns to src/watch.py the folder of this page.
    """

    @app.server.get("/replay/lines")
    def lines() -> Response:
        start = request.args.get("from", "0")
        if not (start.isascii() and start.isdecimal() and len(start) < 16):
            return refusal("'from' must be a number of bytes.", 400)
        try:
            file = open_replay(context, request.args.get("run", ""), request.args.get("file", ""))
        except FileNotFoundError:
            return refusal("There is no such replay.", 404)
        except OSError as error:
            return refusal(f"This replay cannot be read: {error.strerror}.", 404)
        if int(start) > file.seek(0, os.SEEK_END):
            file.close()
            return refusal("The replay has become shorter: reload the page.", 409)
        return file_answer(file, "application/x-ndjson", int(start))

    @app.server.get("/replay/folder")
    def folder() -> Response:
        return Response(str(context.root), mimetype="text/plain")


def _in_folder(context: Context, token: str) -> list[ReplayFile]:
    if not is_file_name(token):
        return []
    files = context.results.files
    names = (entry.name for entry in entries_of(context.root, REPLAYS, token))
    stamps = ((name, files.stamp(REPLAYS, token, name)) for name in names if name.endswith(SUFFIX) and name[0] != ".")
    return _newest_first([ReplayFile(token, name, stamp[1] / 1e9) for name, stamp in stamps if stamp])


def _newest_first(files: list[ReplayFile]) -> list[ReplayFile]:
    return sorted(files, key=lambda one: (-one.changed, one.token, one.name))
