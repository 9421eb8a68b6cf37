"""The cycle of maps that an environment plays, and their lines."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PureWindowsPath
from typing import Any

from envs.racing.map_cycle import MOST_RACES, NAME
from envs.trackmania.line import ReferenceLine, read_line
from utils.errors import ConfigError
from utils.nearest import suggestion
from utils.plain_values import shown

KEYS = ("map", "line", "name", "repeat")
LONGEST_PATH = 1000


@dataclass(frozen=True)
class TrackMap:
    """An entry of the cycle: `path` as the game's console takes it, and the file of its reference line."""

    name: str
    path: str
    line_file: str

    @property
    def file_stem(self) -> str:
        """The file's name without folders and endings."""
        return PureWindowsPath(self.path).name.split(".")[0]

    def line(self) -> ReferenceLine:
        return read_line(self.line_file)


def maps_of(key: str, entries: Any) -> list[TrackMap]:
    """The maps of `env_args.<key>` in their order; an entry with `repeat: 4` is four of them.

    Raises:
        ConfigError: an entry is invalid, or its line cannot be used, or two maps have one name.
    """
    if not isinstance(entries, list | tuple):
        raise ConfigError(f"env_args.{key} is {shown(entries)}; it must be a list of {{map: ..., line: ...}}.")
    maps: list[TrackMap] = []
    for number, entry in enumerate(entries):
        maps += _maps(f"env_args.{key}[{number}]", entry)
        if len(maps) > MOST_RACES:
            raise ConfigError(f"env_args.{key} has more than {MOST_RACES} races.")
    known: dict[str, TrackMap] = {}
    for one in maps:
        if known.setdefault(one.name, one) != one:
            raise ConfigError(f"env_args.{key}: two maps are called {one.name}. Give one of them another name.")
        one.line()
    return maps


def _maps(where: str, entry: Any) -> list[TrackMap]:
    if not isinstance(entry, Mapping):
        raise ConfigError(f"{where} is {shown(entry)}; it must have map, the game's file, and line, that of its line.")
    for key in entry:
        if key not in KEYS:
            raise ConfigError(f"{where}.{shown(key)}: there is no such key.{suggestion(str(key), KEYS)}")
    for key in ("map", "line"):
        value = entry.get(key)
        if not isinstance(value, str) or not value or len(value) > LONGEST_PATH or not value.isprintable():
            raise ConfigError(f"{where}.{key} is {shown(value)}; it must be the path of a file.")
    if '"' in entry["map"]:
        raise ConfigError(f"{where}.map is {shown(entry['map'])}; the console quotes it, so it has no quotes.")
    repeat, name = entry.get("repeat", 1), entry.get("name", "")
    if isinstance(repeat, bool) or not isinstance(repeat, int) or not 1 <= repeat <= MOST_RACES:
        raise ConfigError(f"{where}.repeat is {shown(repeat)}; it must be a whole number from 1 to {MOST_RACES}.")
    if not name:
        name = re.sub(r"[^A-Za-z0-9_-]", "_", TrackMap("", entry["map"], "").file_stem)[:60] or "map"
    elif not isinstance(name, str) or not NAME.fullmatch(name):
        raise ConfigError(f"{where}.name is {shown(name)}; it must have up to 60 letters, digits, '_' and '-'.")
    return [TrackMap(name, entry["map"], entry["line"])] * repeat
