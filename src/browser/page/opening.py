"""Opening the page at one of its addresses: on the server that is running, or on one that is started for it."""

import http.client
import webbrowser
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

from werkzeug.serving import BaseWSGIServer, WSGIRequestHandler, make_server

HOST = "127.0.0.1"
PORT = 8050


def open_page(root: Path, path: str, show: Callable[[str], object] = webbrowser.open, port: int = PORT) -> None:
    """Show the page over a results folder; a server that has to be started for that serves until Ctrl+C.

    Args:
        root: the results folder.
        path: the page's path and query, such as "/replay?run=3".
        show: takes the address.
        port: where a running page is looked for. If something else is there, another port is taken.
    """
    if serves(root, port):
        print(f"The page is open already: http://{HOST}:{port}{path}")
        show(f"http://{HOST}:{port}{path}")
        return
    server = start_server(root, port)
    url = f"http://{HOST}:{server.server_port}{path}"
    print(f"{url}\nCtrl+C ends the page.", flush=True)
    show(url)
    try:
        server.serve_forever()
    finally:
        server.server_close()


def serves(root: Path, port: int = PORT) -> bool:
    """Whether the page over this results folder answers there."""
    connection = http.client.HTTPConnection(HOST, port, timeout=2)
    try:
        connection.request("GET", "/replay/folder")
        answer = connection.getresponse()
        return answer.status == 200 and answer.read(1 << 14) == str(root.resolve()).encode()
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def start_server(root: Path, port: int = PORT) -> BaseWSGIServer:
    """A server of the page on this machine alone, on `port` or, if that is taken, any free one.

    Raises:
        ConfigError: there is no such folder.
    """
    from browser.page.app import create_app

    app = create_app(root).server
    try:
        return make_server(HOST, port, app, threaded=True, request_handler=_Quiet)
    except (OSError, SystemExit):  # werkzeug ends the program where it finds the port taken
        return make_server(HOST, 0, app, threaded=True, request_handler=_Quiet)


class _Quiet(WSGIRequestHandler):
    """Tells of errors, not of every request."""

    protocol_version = "HTTP/1.1"

    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        """Nothing to say."""


def replay_path(token: str, name: str) -> str:
    """The path of a replay's view."""
    return f"/replay?run={quote(token)}&file={quote(name)}"
