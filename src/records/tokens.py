"""Tokens: the names of runs, which their folders bear. Written, validated and parsed here."""

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import PurePath
from typing import Any

# a file name has at most 255 bytes, and the files of a run add a few to its name
LONGEST = 200
LONGEST_SCENARIO = 60
# the arguments in which environments of the family name the scenario
MAP_ARGUMENTS = ("map_name", "key", "game", "scenario", "scenario_name", "environment")
TIME_FORMAT = "%Y-%m-%d_%H-%M-%S-%f"
# nothing that leads out of a folder
VALID = re.compile(r"\w[\w.+-]*")
# older ones have a time without fractions of a second
_FORM = re.compile(
    r"(?P<name>.+?)_seed(?P<seed>\d+)_(?P<map>.*)_(?P<time>\d{4}-\d\d-\d\d_\d\d-\d\d-\d\d)(-(?P<fraction>\d{1,6}))?"
)


@dataclass(frozen=True)
class TokenParts:
    """The parts of a token.

    Attributes:
        made: aware, if the token's clock was in this machine's time zone; None for a date that does not exist.
    """

    name: str
    seed: int
    map_name: str
    made: datetime | None


def run_token(name: str, seed: int, scenario: str, now: datetime) -> str:
    """`<name>_seed<seed>_<scenario>_<time>`, fit for a file name anywhere and, to the microsecond, for this run alone.

    Characters other than letters, digits, `_`, `-` and `.` become `-`; a long token is truncated, the name first.
    """
    ending = f"_seed{seed}_{_cut(_plain(scenario), LONGEST_SCENARIO)}_{now.strftime(TIME_FORMAT)}"
    # no hidden folder, and none that looks like an option
    start = _plain(name).lstrip("-.") or "run"
    return _cut(start, LONGEST - len(ending.encode())) + ending


def is_token(name: Any) -> bool:
    """Whether this is fit for the name of a run's folders."""
    return isinstance(name, str) and VALID.fullmatch(name) is not None


def parts_of(token: str) -> TokenParts | None:
    """The parts of a token that `run_token` made; None for a name of another form."""
    match = _FORM.fullmatch(token)
    if match is None:
        return None
    try:
        made = datetime.strptime(f"{match['time']}-{match['fraction'] or 0}", TIME_FORMAT).astimezone()
    except (ValueError, OverflowError, OSError):
        made = None
    return TokenParts(match["name"], int(match["seed"]), match["map"], made)


def map_of(env: str, env_args: Mapping[str, Any]) -> str:
    """The scenario: the environment's map, key, game or scenario, else the environment's name."""
    return scenario_text(next((env_args[key] for key in MAP_ARGUMENTS if env_args.get(key)), env))


def scenario_text(value: Any) -> str:
    """An argument that names the scenario, as text; several maps are joined by "+", and of a file its name counts."""
    if isinstance(value, list | tuple):
        return "+".join(map(str, value))
    file, colon, name = str(value).rpartition(".py:")
    return f"{PurePath(file).name}{colon}{name}" if colon else str(value)


def _plain(text: str) -> str:
    return re.sub(r"[^\w.-]+", "-", unicodedata.normalize("NFC", str(text)))


def _cut(text: str, longest: int) -> str:
    """At most `longest` bytes of it."""
    return text.encode()[:longest].decode(errors="ignore")
