"""Access to the page: by this machine's own browser, or one that has the token."""

import hmac
from collections.abc import Callable
from urllib.parse import urlencode, urlsplit

from flask import Flask, Response, redirect, request
from werkzeug.exceptions import ClientDisconnected, RequestEntityTooLarge

from browser.page.parts.limits import LARGEST_REQUEST
from browser.page.parts.refusing import refusal
from browser.page.server.arguments import is_loopback
from utils.sizes import readable_size

COOKIE = "muster_token"

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


def guard(server: Flask, hashes: Callable[[], list[str]], token: str | None) -> None:
    """Check every request before it is answered, and put protective headers on every answer.

    Without a token the server answers only requests that name this machine: no foreign page reaches it by another
    name that points here (DNS rebinding). With one, a request needs it: once as `?token=`, which is kept as a cookie.
    Requests that change anything must come from the page itself.

    A request's body must arrive at once, and is no longer than LARGEST_REQUEST.

    Args:
        hashes: returns the hashes of permitted inline scripts, as 'sha256-...'; Dash adds one with the first request.
    """

    # bodies that do not say how long they are (chunked ones) are cut there
    server.config["MAX_CONTENT_LENGTH"] = LARGEST_REQUEST + 1

    @server.before_request
    def check() -> Response | None:
        if token is None:
            if not is_loopback(_host_name(request.host)):
                return refusal("This page answers to localhost only; the address names another machine.")
        elif (answer := _without_token(token)) is not None:
            return answer
        if request.method not in ("GET", "HEAD") and not _from_this_page():
            return refusal("This request came from another page.")
        return _without_body()

    @server.after_request
    def protect(response: Response) -> Response:
        response.headers.update(_HEADERS)
        # files of runs have a stricter one
        response.headers.setdefault("Content-Security-Policy", _POLICY.format(hashes=" ".join(hashes())))
        return response


def _without_token(token: str) -> Response | None:
    given = request.args.get("token")
    if given is not None and _same(given, token):
        rest = [(key, value) for key, value in request.args.items(multi=True) if key != "token"]
        answer = redirect("/" + request.path.lstrip("/\\") + (f"?{urlencode(rest)}" if rest else ""))
        answer.set_cookie(COOKIE, token, httponly=True, samesite="Lax")
        return answer
    if _same(request.cookies.get(COOKIE, ""), token):
        return None
    return refusal("This page needs a token: open the address that browse.py printed.")


def _without_body() -> Response | None:
    """Read the body, for which no part of the page then waits; a refusal if it is too long or does not arrive."""
    if (request.content_length or 0) <= LARGEST_REQUEST:
        try:
            if len(request.get_data()) <= LARGEST_REQUEST:
                return None
        except ClientDisconnected:
            return refusal("The request's body did not arrive.", 408)
        except RequestEntityTooLarge:
            pass
        except OSError:
            return refusal("The request's body could not be read.", 400)
    return refusal(f"A request may have at most {readable_size(LARGEST_REQUEST)}.", 413)


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
