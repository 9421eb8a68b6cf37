"""Access to the page: by this machine's own browser, or one that has the token, for requests that the page makes."""

import hmac
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode, urlsplit

from dash import Dash
from dash.exceptions import DependencyException
from flask import Response, redirect, request
from werkzeug.exceptions import HTTPException
from werkzeug.wrappers import Response as WerkzeugResponse

from browser.page.parts.answers import refusal
from browser.page.server.arguments import is_loopback
from utils.own_commands import as_typed

COOKIE = "muster_token"
UPDATE = "/_dash-update-component"

_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}
# AG Grid and plotly write style elements and attributes, and hold their icons and fonts as data
_POLICY = (
    "default-src 'none'; script-src 'self' {hashes}; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; "
    "font-src 'self' data:; connect-src 'self'; media-src 'self' blob:; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)


def guard(app: Dash, token: str | None) -> None:
    """Check every request before it is answered, and put protective headers on every answer.

    Without a token the server answers only requests that name this machine: no foreign page reaches it by another
    name that points here (DNS rebinding). With one, a request needs it: once as `?token=`, which is kept as a cookie.
    Requests that change anything must come from the page itself. Malformed ones are answered in a line; Dash and Flask
    would answer with a page, and a traceback on the terminal.
    """

    @app.server.before_request
    def check() -> WerkzeugResponse | None:
        if token is None:
            if not is_loopback(_host_name(request.host)):
                return refusal("This page answers to localhost only; the address names another machine.")
        elif (answer := _without_token(token)) is not None:
            return answer
        if request.method not in ("GET", "HEAD") and not _from_this_page():
            return refusal("This request came from another page.")
        if request.path == UPDATE and request.method == "POST" and not _fits(app.callback_map, _body()):
            return refusal("This request is malformed.", 400)
        return None

    @app.server.after_request
    def protect(response: Response) -> Response:
        response.headers.update(_HEADERS)
        # files of runs have a stricter one; Dash adds a script with the first request
        hashes = " ".join(app.csp_hashes())
        response.headers.setdefault("Content-Security-Policy", _POLICY.format(hashes=hashes))
        return response

    @app.server.errorhandler(DependencyException)
    def unknown_file(_: DependencyException) -> Response:
        return refusal("There is no such file.", 404)

    @app.server.errorhandler(HTTPException)
    def line(error: HTTPException) -> WerkzeugResponse:
        answer = error.get_response()
        if answer.status_code < 400:  # a redirection
            return answer
        return refusal(f"{error.name}: {request.method} {request.path[:200]}", answer.status_code)


def _without_token(token: str) -> WerkzeugResponse | None:
    given = request.args.get("token")
    if given is not None and _same(given, token):
        rest = [(key, value) for key, value in request.args.items(multi=True) if key != "token"]
        answer = redirect("/" + request.path.lstrip("/\\") + (f"?{urlencode(rest)}" if rest else ""))
        answer.set_cookie(COOKIE, token, httponly=True, samesite="Lax")
        return answer
    if _same(request.cookies.get(COOKIE, ""), token):
        return None
    return refusal(as_typed("This page needs a token: open the address that browse.py printed."))


def _same(given: str, token: str) -> bool:
    return hmac.compare_digest(given.encode(errors="replace"), token.encode())


def _from_this_page() -> bool:
    origin = request.headers.get("Origin")
    try:
        same = origin is not None and urlsplit(origin).netloc == request.host
    except ValueError:
        return False
    return same and request.headers.get("Sec-Fetch-Site", "same-origin") == "same-origin"


def _host_name(host: str) -> str:
    """A Host header without its port."""
    name, colon, port = host.rpartition(":")
    return (name if colon and port.isdecimal() else host).lower()


def _body() -> Any:
    """The request's JSON; None for anything else."""
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
