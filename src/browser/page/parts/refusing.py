"""One line in answer to requests that the page itself never makes: unknown files, updates that fit no part of it."""

from collections.abc import Mapping
from typing import Any

from dash import Dash
from dash.exceptions import DependencyException
from flask import Response, request
from werkzeug.exceptions import HTTPException

UPDATE = "/_dash-update-component"


def refuse_misfits(app: Dash) -> None:
    """Answer malformed requests in a line; Dash and Flask would answer with a page, and a traceback on the terminal."""

    @app.server.before_request
    def check() -> Response | None:
        if request.path != UPDATE or request.method != "POST" or _fits(app.callback_map, _body()):
            return None
        return refusal("This request is malformed.", 400)

    @app.server.errorhandler(DependencyException)
    def unknown_file(_: DependencyException) -> Response:
        return refusal("There is no such file.", 404)

    @app.server.errorhandler(HTTPException)
    def line(error: HTTPException) -> Response:
        answer = error.get_response()
        if answer.status_code < 400:  # a redirection
            return answer
        answer.set_data(f"{error.name}: {request.method} {request.path[:200]}")
        answer.mimetype = "text/plain"
        return answer


def refusal(text: str, status: int = 403) -> Response:
    """An answer of one line."""
    return Response(text, status, mimetype="text/plain")


def _body() -> Any:
    """The request's JSON; None if it is none."""
    try:
        return request.get_json(silent=True)
    except RecursionError:
        return None


def _fits(callbacks: Mapping[str, Mapping[str, Any]], body: Any) -> bool:
    """Whether this is an update that the browser's part of Dash asks for: of a known callback, with its parts."""
    if not isinstance(body, dict) or not isinstance(body.get("output"), str):
        return False
    callback = callbacks.get(body["output"], {})
    if "callback" not in callback:  # unknown, or done in the browser
        return False
    several, outputs = body["output"].startswith(".."), body.get("outputs")
    changed = body.get("changedPropIds", [])
    return (
        all(_parts(body.get(kind, [])) == _parts(callback[kind]) for kind in ("inputs", "state"))
        and isinstance(outputs, list if several else dict)
        and len(_parts(outputs if several else [outputs]) or ()) == body["output"].count("...") + 1
        and isinstance(changed, list)
        and all(isinstance(name, str) for name in changed)
    )


def _parts(listed: Any) -> list[tuple[str, str]] | None:
    """The component and property of every part; None of anything else."""
    if not isinstance(listed, list) or not all(isinstance(part, dict) for part in listed):
        return None
    found = [(part.get("id"), part.get("property")) for part in listed]
    return found if all(isinstance(text, str) for pair in found for text in pair) else None
