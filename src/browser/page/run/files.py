"""The files of a run: a table of them, pictures and texts shown in place, and their addresses."""

import re
from pathlib import Path
from urllib.parse import quote

from dash import Dash, html
from flask import Response, request

from browser.page.parts import address
from browser.page.parts.answers import file_answer, refusal
from browser.page.parts.components import card, table, table_buttons
from browser.page.parts.context import Context, state_of
from browser.page.parts.limits import LONGEST_FACT, short
from browser.page.replays.replay_files import replays_of
from browser.page.replays.replay_table import replay_table
from browser.page.run.request import RunRequest
from browser.reading import Run
from browser.reading.artifacts import RunFile
from utils.errors import ConfigError
from utils.sizes import readable_size

ADDRESS = "/file"
# bytes: of a download, of a picture that is shown, of the beginning of a text that is shown
LARGEST_DOWNLOAD = 2**32
LARGEST_PICTURE = 2**24
SHOWN_TEXT = 20_000
MOST_PICTURES = 24
MOST_TEXTS = 12
MOST_MANIFESTS = 50

# by their first bytes; no other kind is ever shown by its address, for an SVG or HTML file may hold a script
_PICTURES = {
    "image/png": rb"\x89PNG\r\n\x1a\n",
    "image/jpeg": rb"\xff\xd8\xff",
    "image/gif": rb"GIF8[79]a",
    "image/webp": rb"RIFF....WEBP",
}
_PICTURE_NAMES = (".png", ".jpg", ".jpeg", ".gif", ".webp")
_TEXT_NAMES = tuple(".txt .md .json .jsonl .yaml .yml .csv .tsv .log .py .toml .ini .cfg .html .htm .svg .xml".split())
# foreign content may run nothing, even if it is opened by itself
_POLICY = "default-src 'none'; style-src 'none'; sandbox; frame-ancestors 'none'"


def register(app: Dash, context: Context) -> None:
    """Serve `/file?run=<id>&path=<path>` as a download; with `show=1` a picture as such.

    Only the files that are listed for the run are served: regular ones, below the results folder, over no link, and
    none that is longer than LARGEST_DOWNLOAD.
    """

    @app.server.get(ADDRESS)
    def file() -> Response:
        path, shown = request.args.get("path", ""), request.args.get("show") == "1"
        try:
            found = {str(one.path) for one in context.results.files_of(context.run(request.args.get("run", "")))}
        except ConfigError:
            found = set()
        if path not in found:
            return refusal("There is no such file of this run.", 404)
        return _picture(context, Path(path)) if shown else _download(context, Path(path))


def _download(context: Context, path: Path) -> Response:
    try:
        file = context.results.files.open(path, largest=LARGEST_DOWNLOAD)
    except OSError as error:
        return refusal(f"This file cannot be read: {error.strerror}.", 404)
    answer = file_answer(file, "application/octet-stream")
    name = re.sub(r"[\x00-\x1f\x7f\"\\]", "_", path.name)
    names = {"filename": name.encode("ascii", "replace").decode()}
    if not name.isascii():  # RFC 6266
        names["filename*"] = f"UTF-8''{quote(name, safe='', errors='replace')}"
    answer.headers.set("Content-Disposition", "attachment", **names)
    return _harmless(answer)


def _picture(context: Context, path: Path) -> Response:
    try:
        with context.results.files.open(path, largest=LARGEST_PICTURE) as file:
            data = file.read(LARGEST_PICTURE)
    except OSError as error:
        return refusal(f"This file cannot be read: {error.strerror}.", 404)
    mimetype = _picture_type(data)
    if mimetype is None:
        return refusal("This file is not a picture that the page shows.", 415)
    return _harmless(Response(data, mimetype=mimetype, headers={"Content-Disposition": "inline"}))


def _picture_type(data: bytes) -> str | None:
    return next((mimetype for mimetype, start in _PICTURES.items() if re.match(start, data, re.DOTALL)), None)


def _harmless(answer: Response) -> Response:
    answer.headers["Content-Security-Policy"] = _POLICY
    answer.headers["Cache-Control"] = "no-store"
    return answer


def file_link(run: Run, file: RunFile, **query: str) -> str:
    """The address of a file of a run."""
    return address.link(ADDRESS, {"run": run.id, "path": str(file.path), **query})


def follows(asked: RunRequest) -> object:
    """What the cards show: records grow all the time, so only their names count."""
    files = [str(file.path) for file in asked.context.results.files_of(asked.run) if file.kind != "record"]
    return state_of(asked.run), files


def draw(asked: RunRequest) -> list[html.Section | None]:
    """The artifacts, all files, and the replays."""
    context, run = asked.context, asked.run
    found = context.results.files_of(run)
    return [_artifacts(context, run, found), _files(context, run, found), _replays(context, run)]


def _replays(context: Context, run: Run) -> html.Section:
    found = replays_of(context, run.id)
    none = html.P("None. save_replay=True records the last test.", className="note")
    return card("Replays", replay_table(context, found, run.id) if found else none)


def _files(context: Context, run: Run, files: list[RunFile]) -> html.Section:
    """All files in a table, each with a link that downloads it."""
    if not files:
        return card("Files", html.P("None.", className="note"))
    episodes = _episodes(context, run)
    rows = [
        {
            "kind": file.kind,
            "step": file.t_env,
            "episode": episodes.get(file.t_env) if file.kind == "checkpoint" else None,
            "size": file.size,
            "changed": file.changed.strftime("%Y-%m-%d %H:%M:%S"),
            "path": str(file.path),
            "problem": file.problem or _too_long(file),
            "href": file_link(run, file),
        }
        for file in files
    ]
    whole = {"type": "rightAligned", "filter": "agNumberColumnFilter"}
    columns = [
        {"field": "path", "headerName": "File", "flex": 1, "minWidth": 240, "cellRenderer": "FileLink"},
        {"field": "kind", "width": 115},
        {"field": "step", "headerName": "t_env", "width": 105, **whole},
        {"field": "episode", "width": 95, **whole},
        {"field": "size", "width": 95, "valueFormatter": {"function": "bytes(params.value)"}, **whole},
        {"field": "changed", "headerName": "Changed (UTC)", "width": 190},
    ]
    return card("Files", table("run-files", columns, rows), tools=table_buttons("run-files", "run-files"))


def _artifacts(context: Context, run: Run, files: list[RunFile]) -> html.Section | None:
    """The pictures and texts among Sacred's artifacts, or None."""
    given = [one for one in files if one.kind == "artifact" and not one.problem]
    pictures = [one for one in given if one.size <= LARGEST_PICTURE and _is_picture(context, one)]
    texts = [one for one in given if one.path.name.lower().endswith(_TEXT_NAMES)]
    if not pictures and not texts:
        return None
    more = len(pictures[MOST_PICTURES:]) + len(texts[MOST_TEXTS:])
    return card(
        "Artifacts",
        html.P(f"{more:,} more are in the list of files.", className="note") if more else None,
        html.Div([_shown_picture(run, one) for one in pictures[:MOST_PICTURES]], className="pictures"),
        *(_shown_text(context, run, one) for one in texts[:MOST_TEXTS]),
    )


def _is_picture(context: Context, file: RunFile) -> bool:
    if not file.path.name.lower().endswith(_PICTURE_NAMES):
        return False
    try:
        with context.results.files.open(file.path) as opened:
            return _picture_type(opened.read(16)) is not None
    except OSError:
        return False


def _shown_picture(run: Run, file: RunFile) -> html.Figure:
    image = html.Img(src=file_link(run, file, show="1"), alt=file.path.name)
    return html.Figure([html.A(image, href=file_link(run, file)), html.Figcaption(short(file.path.name))])


def _shown_text(context: Context, run: Run, file: RunFile) -> html.Details:
    try:
        with context.results.files.open(file.path) as opened:
            text = opened.read(SHOWN_TEXT).decode("utf-8", "replace")
    except OSError as error:
        text = f"Not read: {error.strerror}."
    cut = f" Its first {readable_size(SHOWN_TEXT)} are shown." if file.size > SHOWN_TEXT else ""
    link = html.A(short(file.path.name), href=file_link(run, file))
    about = html.Summary([link, f" {readable_size(file.size)}.{cut}"])
    return html.Details([about, html.Pre(text)], open=file.size <= LONGEST_FACT)


def _episodes(context: Context, run: Run) -> dict[int | None, int]:
    """Training episodes by the steps of the newest checkpoints, as their manifests say."""
    checkpoints = [one for one in context.results.artifacts(run) if one.kind == "checkpoint"][-MOST_MANIFESTS:]
    found = {one.t_env: context.results.manifest(one).get("episode") for one in checkpoints}
    return {t_env: episode for t_env, episode in found.items() if isinstance(episode, int)}


def _too_long(file: RunFile) -> str:
    return f"it is longer than {readable_size(LARGEST_DOWNLOAD)}" if file.size > LARGEST_DOWNLOAD else ""
