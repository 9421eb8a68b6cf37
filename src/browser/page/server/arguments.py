"""The command line of browse.py."""

import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from utils.command_line import OptionParser
from utils.errors import ConfigError

_EPILOG = """examples:
  python src/browse.py
  python src/browse.py ~/old/results --port 9000 --no-open
  python src/browse.py results --write             # tags, notes, archive, bin
  python src/browse.py results --host 0.0.0.0      # for other machines, with a token
"""


@dataclass
class Options:
    """The parsed options; see `--help`."""

    results: Path
    host: str
    port: int
    token: str | None
    write: bool
    open: bool


def is_loopback(host: str) -> bool:
    """Whether a name or address (in brackets, too) is this machine's own, which no other machine can reach."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.removeprefix("[").removesuffix("]")).is_loopback
    except ValueError:
        return False


def parse_arguments(argv: Sequence[str]) -> Options:
    """Parse the command line without the program's name; `--help` prints and exits.

    Raises:
        ConfigError: an unknown option, or a value that cannot be one.
    """
    parser = OptionParser(
        "browse.py",
        "Open a results folder in the web browser: runs, comparisons, replays. Reads only, and serves "
        "this machine only, unless --host says otherwise.",
        _EPILOG,
    )
    add = parser.add_argument
    add("results", nargs="?", type=Path, default=Path("results"), help="results folder (default: results)")
    add("--host", default="127.0.0.1", help="address to serve at (default: 127.0.0.1, this machine only)")
    add("--port", type=int, default=8050, help="default: 8050, or the next free one")
    add("--token", help="secret that other machines need (default: generated if --host needs it)")
    add("--write", action="store_true", help="allow tags, notes, archiving, and deleting to a bin")
    add("--no-open", dest="open", action="store_false", help="do not open the web browser")
    options = Options(**vars(parser.parse(argv)))
    if not 0 <= options.port <= 65535:
        raise ConfigError(f"--port is a number from 0 (any free one) to 65535, found {options.port}.")
    if options.token is not None and len(options.token) < 16:
        raise ConfigError("--token needs at least 16 characters; without this option browse.py generates one.")
    return options
