"""Opening the page at one of its addresses: on the server that is running, or on one that is started for it."""

import http.client
import threading
import webbrowser
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

from werkzeug.serving import BaseWSGIServer

from browser.page.server.app import create_app
from browser.page.server.serving import listen, server_of

HOST = "127.0.0.1"
PORT = 8050


def open_page(root: Path, path: str, show: Callable[[str], object] = webbrowser.open) -> None:
    """Show the page over a results folder; a server started for it serves until Ctrl+C.

    Args:
        root: the results folder.
        path: the page's path and query, such as "/replay?run=3".
        show: takes the address.

    Raises:
        ConfigError: there is no such folder.
    """
    port, server = find_or_start(root)
    address = f"http://{HOST}:{port}{path}"
    if server is None:
        print(f"The page is already served: {address}", flush=True)
        show(address)
        return
    print(f"{address}  (Ctrl-C stops the page)", flush=True)
    # a browser in a terminal returns only when the user closes it
    threading.Thread(target=show, args=(address,), daemon=True).start()
    try:
        server.serve_forever()
    finally:
        server.server_close()


def find_or_start(root: Path, port: int = PORT) -> tuple[int, BaseWSGIServer | None]:
    """The port of the page that is served at `port`, and None; or that of a server which is made, at the next free one.

    Raises:
        ConfigError: there is no such folder.
    """
    if serves(root, port):
        return port, None
    flask = create_app(root).server
    with listen(HOST, port) as listening:
        server = server_of(flask, listening)  # it has a copy of the socket
    return server.port, server


def serves(root: Path, port: int) -> bool:
    """Whether the page over this results folder answers there, without a token."""
    connection = http.client.HTTPConnection(HOST, port, timeout=2)
    try:
        connection.request("GET", "/replay/folder")
        answer = connection.getresponse()
        return answer.status == 200 and answer.read(1 << 14) == str(root.resolve()).encode()
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def replay_path(token: str, name: str) -> str:
    """The path of a replay's view."""
    return f"/replay?run={quote(token)}&file={quote(name)}"
