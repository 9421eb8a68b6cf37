"""Serving the page: check the folder, find a free port, and print the address only."""

import contextlib
import io
import logging
import secrets
import socket
import threading
import time
import webbrowser
from pathlib import Path
from urllib.parse import urlsplit

from flask import Flask
from werkzeug.serving import BaseWSGIServer, WSGIRequestHandler, make_server

from browser.page.server.app import create_app
from browser.page.server.arguments import Options, is_loopback
from browser.reading import Results
from records.layout import RUNS, SACRED
from utils.errors import ConfigError

# ports that are tried, beginning with the one that was asked for
TRIED = 20
# seconds in which a whole request must arrive, and in which a client must take some of an answer
PATIENCE = 30.0


class _Impatient(io.RawIOBase):
    """Reads a connection until PATIENCE is over: one that sends a byte now and then holds no thread for long."""

    def __init__(self, connection: socket.socket):
        self._connection = connection
        self._until = time.monotonic() + PATIENCE

    def readable(self) -> bool:
        """It can be read."""
        return True

    def readinto(self, buffer: memoryview) -> int:
        """Wait for the next bytes, but not beyond the time.

        Raises:
            TimeoutError: the time is over.
        """
        left = self._until - time.monotonic()
        if left <= 0:
            raise TimeoutError("the request timed out")
        self._connection.settimeout(left)
        try:
            return self._connection.recv_into(buffer)
        finally:
            self._connection.settimeout(PATIENCE)


class _QuietHandler(WSGIRequestHandler):
    """Logs no requests, and waits for none without end; every connection has one (werkzeug closes it)."""

    protocol_version = "HTTP/1.1"
    server_version = "Muster"
    sys_version = ""

    def setup(self) -> None:
        """As in the standard library, but read with a time limit."""
        super().setup()
        self.rfile = io.BufferedReader(_Impatient(self.connection))

    # of requests that are refused before the page sees them
    error_message_format = "%(message)s\n"
    error_content_type = "text/plain"

    def parse_request(self) -> bool:
        """As in the standard library, but an address that is none is refused here."""
        if not super().parse_request():
            return False
        try:
            urlsplit(self.path)
        except ValueError:
            self.send_error(400)
            return False
        return True

    def log_request(self, *_: object) -> None:
        """Log no single requests."""

    def log(self, type: str, message: str, *args: object) -> None:
        """Log no single requests; errors of the page itself are logged elsewhere."""


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
    server = server_of(app.server, listening)
    port = listening.getsockname()[1]
    if options.port not in (0, port):
        print(f"Port {options.port} is taken; using {port}.")
    if not is_loopback(options.host):
        print("Other machines can reach this page. Everyone with this address and its token can see these results.")
    address = f"http://{_shown(options.host)}:{port}/" + (f"?token={token}" if token else "")
    print(f"{options.results} is at {address}  (Ctrl-C stops it)", flush=True)
    if options.open:
        threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()
    with contextlib.closing(listening):
        server.serve_forever()


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
    return "\n".join(said)


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
    """A server for a socket; each connection has its thread."""
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    host, port = listening.getsockname()[:2]
    return make_server(host, port, flask, threaded=True, request_handler=_QuietHandler, fd=listening.fileno())


def _shown(host: str) -> str:
    if host in ("0.0.0.0", "::"):
        return socket.gethostname()
    return f"[{host}]" if ":" in host else host
