"""Which replays a run has, and their bytes, from any place on."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from flask import Flask, Response, request

from browser.page.context import Context
from browser.records import OutsideResultsError, UnknownRunError
from browser.records.json_files import parse
from browser.records.paths import inside, is_file_name
from browser.records.scan import subfolders
from utils.errors import ConfigError
from utils.nearest import did_you_mean

SUFFIX = ".jsonl"
CHUNK = 1 << 18
LONGEST_HEADER = 1 << 20


@dataclass(frozen=True)
class ReplayFile:
    """`<results>/replays/<token>/<name>`."""

    token: str
    name: str
    changed: float

    @property
    def shown(self) -> str:
        """What to call it: `120000_0.jsonl` is episode 0 after 120,000 steps."""
        step, _, episode = self.name.removesuffix(SUFFIX).rpartition("_")
        if step.isdecimal() and episode.isdecimal():
            return f"{int(step):,} steps, episode {int(episode)}"
        return self.name


def replays_of(context: Context, run: str) -> list[ReplayFile]:
    """The replays of a run, and those that were played later with its models; the newest first.

    Args:
        run: a run's id, or a token, also of what was only played (src/watch.py) and has no record.

    Raises:
        UnknownRunError: there is no such run.
    """
    trained, tokens = origin_of(context, token_of(context, run)), subfolders(context.root / "replays")
    recorded = {session.token for lineage in context.lineages() for session in lineage.sessions}
    later = [one for one in tokens if one not in recorded and one != trained and origin_of(context, one) == trained]
    return _newest_first([file for one in (trained, *later) for file in _in_folder(context, one)])


def all_replays(context: Context) -> list[ReplayFile]:
    """The replays of all runs, the newest first."""
    return _newest_first([one for token in subfolders(context.root / "replays") for one in _in_folder(context, token)])


def token_of(context: Context, run: str) -> str:
    """The token of the run with this id; a token is its own. Empty if the run has none.

    Raises:
        UnknownRunError: there is no such run.
    """
    try:
        return context.lineage(run).newest.token or ""
    except UnknownRunError:
        tokens = subfolders(context.root / "replays")
        recorded = {session.token for lineage in context.lineages() for session in lineage.sessions}
        if run in recorded or run in tokens:
            return run
        shown = run[:200]
        raise UnknownRunError(f"There is no run '{shown}' in this folder.{did_you_mean(shown, tokens)}") from None


def origin_of(context: Context, token: str) -> str:
    """Whose models were played under this token: that of another run, or itself."""
    files = _in_folder(context, token)
    if not files:
        return token
    path = _checkpoint_path(path_of(context, token, files[-1].name))
    # <results>/models/<token>, or <results>/runs/<token>/checkpoints
    name = path.parent.name if path.name == "checkpoints" else path.name
    return name if is_file_name(name) else token


@lru_cache(maxsize=4096)
def _checkpoint_path(path: Path) -> Path:
    """Where a replay's header says that its models were; headers never change."""
    with open(path, "rb") as file:
        line = file.readline(LONGEST_HEADER)
    header = parse(line).value if line.endswith(b"\n") else None
    found = header.get("checkpoint_path") if isinstance(header, dict) else None
    return Path(found if isinstance(found, str) else "")


def path_of(context: Context, token: str, name: str) -> Path:
    """The file, which exists.

    Raises:
        ConfigError: there is none, or it is not among the replays.
    """
    try:
        if is_file_name(token) and is_file_name(name) and name.endswith(SUFFIX):
            path = inside(inside(context.root, "replays"), token, name)
            if path.is_file():
                return path
    except OutsideResultsError:
        pass
    raise ConfigError("There is no such replay.")


def register_lines(server: Flask, context: Context) -> None:
    """Serve `/replay/lines?run=<token>&file=&from=`: the file's bytes from there on, as far as it is written now.

    `/replay/folder` tells src/watch.py whose page this is.
    """

    @server.get("/replay/lines")
    def lines() -> Response:
        start = request.args.get("from", "0")
        if not (start.isascii() and start.isdecimal() and len(start) < 16):
            return _refusal("from is a number of bytes.", 400)
        try:
            path = path_of(context, request.args.get("run", ""), request.args.get("file", ""))
            size = path.stat().st_size
        except (ConfigError, OSError):
            return _refusal("There is no such replay.", 404)
        if int(start) > size:
            return _refusal("The replay has become shorter: reload the page.", 409)
        answer = Response(_chunks(path, int(start), size), mimetype="application/x-ndjson")
        answer.content_length = size - int(start)
        answer.headers["Cache-Control"] = "no-store"
        return answer

    @server.get("/replay/folder")
    def folder() -> Response:
        return Response(str(context.root), mimetype="text/plain")


def _chunks(path: Path, start: int, end: int) -> Iterator[bytes]:
    """The bytes from `start` to `end`: what is added meanwhile would contradict the length that was announced."""
    with open(path, "rb") as file:
        file.seek(start)
        while start < end and (chunk := file.read(min(CHUNK, end - start))):
            start += len(chunk)
            yield chunk


def _refusal(text: str, status: int) -> Response:
    return Response(text, status, mimetype="text/plain")


def _in_folder(context: Context, token: str) -> list[ReplayFile]:
    if not is_file_name(token):
        return []
    try:
        folder = inside(context.root, "replays", token)
        with os.scandir(folder) as listing:
            entries = [entry for entry in listing if entry.name.endswith(SUFFIX) and entry.name[0] != "."]
            found = [ReplayFile(token, entry.name, entry.stat().st_mtime) for entry in entries if entry.is_file()]
    except (OSError, OutsideResultsError):
        return []
    return _newest_first(found)


def _newest_first(files: list[ReplayFile]) -> list[ReplayFile]:
    return sorted(files, key=lambda one: (-one.changed, one.token, one.name))
