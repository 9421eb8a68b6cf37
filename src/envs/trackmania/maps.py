"""The cycle of maps that an environment plays, and their lines."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PureWindowsPath
from typing import Any

from envs.contract.arguments import require_number
from envs.racing.line import LineRules
from envs.racing.map_cycle import MOST_RACES, cycle_of, name_of, naming, require_keys
from envs.trackmania.line import ReferenceLine, read_line
from utils.errors import ConfigError
from utils.plain_values import quoted

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

    def line(self, rules: LineRules = LineRules()) -> ReferenceLine:
        return read_line(self.line_file, rules)


def maps_of(key: str, entries: Any) -> list[TrackMap]:
    """The maps of `env_args.<key>` in their order; an entry with `repeat: 4` is four of them."""
    maps = cycle_of(key, entries, "a list of {map: ..., line: ...}", "maps", _maps)
    for one in dict.fromkeys(maps):
        with naming(key):
            one.line()
    return maps


def _maps(where: str, entry: Any) -> list[TrackMap]:
    if not isinstance(entry, Mapping):
        raise ConfigError(f"{where} is {quoted(entry)}; it must have map, the game's file, and line, that of its line.")
    require_keys(where, entry, KEYS)
    for key in ("map", "line"):
        value = entry.get(key)
        if not isinstance(value, str) or not value or len(value) > LONGEST_PATH or not value.isprintable():
            raise ConfigError(f"{where}.{key} is {quoted(value)}; it must be the path of a file.")
    if '"' in entry["map"]:
        raise ConfigError(f"{where}.map is {quoted(entry['map'])}; the console quotes it, so it has no quotes.")
    repeat = entry.get("repeat", 1)
    require_number(f"{where}.repeat", repeat, 1, MOST_RACES, whole=True)
    name = name_of(where, entry.get("name"), TrackMap("", entry["map"], "").file_stem) or "map"
    return [TrackMap(name, entry["map"], entry["line"])] * repeat
