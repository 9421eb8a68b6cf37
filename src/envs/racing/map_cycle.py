"""The cycle of races that an environment plays: tracks by seed or from files, with repeats."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from envs.racing.generator import generated
from envs.racing.line import Line, line_of
from envs.racing.state import SPACING
from envs.racing.track_files import read_centres
from utils.errors import ConfigError
from utils.nearest import suggestion
from utils.plain_values import shown

KEYS = ("track", "name", "repeat", "half_width", "metres")
MOST_RACES = 10_000
MOST_SEED = 2**31 - 1
NAME = re.compile(r"[A-Za-z0-9_-]{1,60}")
CLEARANCE = 6.0  # metres between the edges of parts of a track by seed


@dataclass(frozen=True)
class Race:
    """An entry of the cycle: a track by `seed`, or from `file`."""

    name: str
    half_width: float
    metres: float
    seed: int | None = None
    file: str = ""

    def centres(self) -> np.ndarray:
        """Its centre points `[N, 2]`."""
        if self.file:
            return read_centres(self.file)
        return generated(self.seed, self.metres, 2 * self.half_width + CLEARANCE)

    @property
    def length(self) -> float:
        """Its metres, about."""
        return SPACING * len(self.centres()) if self.file else self.metres

    def line(self) -> Line:
        return line_of(self.centres(), self.half_width)


def races_of(key: str, entries: Any, half_width: float, metres: float) -> list[Race]:
    """The races of `env_args.<key>` in their order; an entry with `repeat: 4` is four of them.

    An entry is a track, or a mapping with `track` and any other of `KEYS`. Tracks are "seed:7", "seeds:0-99" (a hundred
    of them) or the path of a file.

    Raises:
        ConfigError: an entry is invalid, or two tracks have one name.
    """
    if not isinstance(entries, list | tuple):
        raise ConfigError(f"env_args.{key} is {shown(entries)}; it must be a list of tracks, such as [seed:1].")
    races: list[Race] = []
    for number, entry in enumerate(entries):
        races += _races(f"env_args.{key}[{number}]", entry, half_width, metres)
        if len(races) > MOST_RACES:
            raise ConfigError(f"env_args.{key} has more than {MOST_RACES} races.")
    known: dict[str, Race] = {}
    for race in races:
        if known.setdefault(race.name, race) != race:
            raise ConfigError(f"env_args.{key}: two tracks are called {race.name}. Give one of them another name.")
        race.length  # noqa: B018 reads its file, if it is from one
    return races


def _races(where: str, entry: Any, half_width: float, metres: float) -> list[Race]:
    given: dict[str, Any] = {"half_width": half_width, "metres": metres, "repeat": 1, "name": ""}
    if isinstance(entry, Mapping):
        for key in entry:
            if key not in KEYS:
                raise ConfigError(f"{where}.{shown(key)}: there is no such key.{suggestion(str(key), KEYS)}")
        given |= entry
    else:
        given["track"] = entry
    _require_number(where, "repeat", given["repeat"], 1, MOST_RACES, int)
    _require_number(where, "half_width", given["half_width"], 2, 40, int | float)
    _require_number(where, "metres", given["metres"], 60, 20_000, int | float)
    track, name = given.get("track"), given["name"]
    if not isinstance(track, str) or not track:
        raise ConfigError(f"{where} is {shown(entry)}; a track is 'seed:7', 'seeds:0-99', or the path of a file.")
    seeds = _seeds(where, track)
    if not name:
        name = "track" if seeds else re.sub(r"[^A-Za-z0-9_-]", "_", Path(track).stem)[:60]
    elif not isinstance(name, str) or not NAME.fullmatch(name):
        raise ConfigError(f"{where}.name is {shown(name)}; it must have up to 60 letters, digits, '_' and '-'.")
    size = {"half_width": float(given["half_width"]), "metres": float(given["metres"])}
    if seeds is None:
        return [Race(name, **size, file=track)] * given["repeat"]
    alone = len(seeds) == 1 and given["name"]
    races = [Race(name if alone else f"{name}_{seed}", **size, seed=seed) for seed in seeds]
    return [race for race in races for _ in range(given["repeat"])]


def _seeds(where: str, track: str) -> range | None:
    """The seeds that a track by seed names; None: it is a file."""
    kind, colon, rest = track.partition(":")
    if not colon or kind not in ("seed", "seeds"):
        return None
    found = re.fullmatch(r"(\d{1,10})" if kind == "seed" else r"(\d{1,10})-(\d{1,10})", rest)
    if not found:
        raise ConfigError(f"{where} is '{shown(track)}'; write seed:7, or seeds:0-99.")
    numbers = [int(number) for number in found.groups()]
    first, last = numbers[0], numbers[-1]
    if not first <= last <= MOST_SEED or last - first >= MOST_RACES:
        raise ConfigError(f"{where} is '{track}'; seeds are from 0 to {MOST_SEED}, at most {MOST_RACES}, in order.")
    return range(first, last + 1)


def _require_number(where: str, key: str, value: Any, least: float, most: float, kind: Any) -> None:
    if isinstance(value, bool) or not isinstance(value, kind) or not least <= value <= most:
        whole = "a whole number" if kind is int else "a number"
        raise ConfigError(f"{where}.{key} is {shown(value)}; it must be {whole} from {least} to {most}.")
