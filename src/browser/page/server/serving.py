"""Serving the page: on a free port, until Ctrl-C, for browse.py and for programs that show one of its views."""

import contextlib
import http.client
import logging
import secrets
import socket
import threading
import webbrowser
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

from flask import Flask
from waitress.server import BaseWSGIServer, create_server

from browser.page.parts.limits import LARGEST_REQUEST
from browser.page.server.app import create_app
from browser.page.server.arguments import Options, is_loopback
from browser.reading import Results
from records.layout import RUNS, SACRED
from utils.errors import ConfigError
from utils.own_commands import as_typed

HOST = "127.0.0.1"
PORT = 8050
# ports that are tried, beginning with the one that was asked for
TRIED = 20
# seconds after which a connection on which nothing moves is closed
PATIENCE = 30
# requests that are answered at once; those that arrive slowly wait for no thread
THREADS = 8


def serve(options: Options) -> None:
    """Serve until interrupted.

    Raises:
        ConfigError: there is no such folder, or the address cannot be served at.
    """
    if said := about_folder(options.results):
        print(said)
    token = options.token or (None if is_loopback(options.host) else secrets.token_urlsafe(24))
    app = create_app(options.results, options.write, token)
    listening = listen(options.host, options.port)
    port = listening.getsockname()[1]
    if options.port not in (0, port):
        print(f"Port {options.port} is taken; using {port}.")
    if not is_loopback(options.host):
        print("Other machines can reach this page. Everyone with this address and its token can see these results.")
    host = socket.gethostname() if options.host in ("0.0.0.0", "::") else options.host
    shown = f"[{host}]" if ":" in host else host
    address = f"http://{shown}:{port}/" + (f"?token={token}" if token else "")
    print(f"{options.results} is at {address}  (Ctrl-C stops it)", flush=True)
    if options.open:
        threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()
    with contextlib.closing(listening):
        server_of(app.server, listening).run()
    print()


def about_folder(results: Path) -> str:
    """The notes on a folder before it is served, perhaps empty: how to make a first run, and links in it.

    Raises:
        ConfigError: it does not exist.
    """
    said = [
        f"{results / name} is a link, which is not followed; open the folder that it leads to."
        for name in (SACRED, RUNS)
        if (results / name).is_symlink()
    ]
    if not Results(results).sessions():
        said.append(
            f"There are no runs in '{results}' yet (sacred/<id>/ or runs/<token>/). "
            "The page will show them when they appear. "
            "To make one: python src/main.py --config=qmix --env-config=two_step with t_max=5000"
        )
    return as_typed("\n".join(said))


def listen(host: str, port: int) -> socket.socket:
    """A listening socket at this port, or at the next that is free.

    Raises:
        ConfigError: the address is not this machine's, or none of TRIED ports is free.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    problem: OSError | None = None
    for candidate in [port] if port == 0 else range(port, min(port + TRIED, 65536)):
        try:
            return socket.create_server((host, candidate), family=family)
        except socket.gaierror as error:
            raise ConfigError(f"--host {host} is not an address: {error.strerror}.") from None
        except OSError as error:
            problem = error
    raise ConfigError(f"{host}, port {port} and those after it: {problem.strerror if problem else 'not free'}.")


def server_of(flask: Flask, listening: socket.socket) -> BaseWSGIServer:
    """A server for a socket: `run` serves until it is interrupted."""
    logging.getLogger("waitress").setLevel(logging.CRITICAL)  # Flask reports errors of the page itself
    return create_server(
        flask,
        sockets=[listening],
        threads=THREADS,
        channel_timeout=PATIENCE,
        cleanup_interval=PATIENCE,
        max_request_body_size=LARGEST_REQUEST + 1,
        ident="Muster",
    )


def open_page(root: Path, path: str, show: Callable[[str], object] = webbrowser.open) -> None:
    """Show the page over a results folder at one of its addresses; a server started for it serves until Ctrl+C.

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
    with contextlib.closing(server):
        server.run()


def find_or_start(root: Path, port: int = PORT) -> tuple[int, BaseWSGIServer | None]:
    """The port of the page that is served at `port`, and None; or that of a server which is made, at the next free one.

    Raises:
        ConfigError: there is no such folder.
    """
    if serves(root, port):
        return port, None
    flask = create_app(root).server
    listening = listen(HOST, port)
    return listening.getsockname()[1], server_of(flask, listening)


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
