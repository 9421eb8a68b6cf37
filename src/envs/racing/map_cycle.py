"""The cycle of races that an environment plays: tracks by seed or from files, with repeats."""

import contextlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Protocol, TypeVar

import numpy as np

from envs.contract.arguments import require_number
from envs.racing.generator import generated
from envs.racing.line import Line, LineRules, line_of
from envs.racing.state import SPACING
from envs.racing.track_files import read_centres
from utils.config.reach import whole_path
from utils.errors import ConfigError
from utils.nearest import suggestion
from utils.plain_values import quoted

KEYS = ("track", "name", "repeat", "half_width", "metres")
SEEDS = ("seed", "seeds")
# of racing and of TrackMania, whose maps are the game's own files
FILES_OF_ENTRIES = ("track", "line")
MOST_RACES = 10_000
MOST_SEED = 2**31 - 1
NAME = re.compile(r"[A-Za-z0-9_-]{1,60}")
HALF_WIDTHS = (2.0, 40.0)
LENGTHS = (60.0, 20_000.0)  # metres
CLEARANCE = 6.0  # metres between the edges of parts of a track by seed


class HasName(Protocol):
    @property
    def name(self) -> str: ...


Named = TypeVar("Named", bound=HasName)


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

    def line(self, rules: LineRules = LineRules()) -> Line:
        return line_of(self.centres(), self.half_width, rules)


def races_of(key: str, entries: Any, half_width: float, metres: float) -> list[Race]:
    """The races of `env_args.<key>` in their order; an entry with `repeat: 4` is four of them.

    An entry is a track, or a mapping with `track` and any other of `KEYS`. Tracks are "seed:7", "seeds:0-99" (a hundred
    of them) or the path of a file.

    Raises:
        ConfigError: an entry is invalid, or two tracks have one name.
    """
    races = cycle_of(key, entries, "a list of tracks, such as [seed:1]", "tracks", partial(_races, half_width, metres))
    for race in dict.fromkeys(races):
        with naming(key):
            race.length  # noqa: B018 reads its file, if it is from one
    return races


@contextlib.contextmanager
def naming(key: str) -> Iterator[None]:
    """Errors of a file that `env_args.<key>` names begin with this key."""
    try:
        yield
    except ConfigError as error:
        raise ConfigError(f"env_args.{key}: {error}") from None


def played(training: list[Named], tests: list[Named], called: str, test_mode: bool) -> list[Named]:
    """The cycle that is played: in tests that of tests, if there is one. Raises ConfigError: both give a name to
    different ones, and records of both are by name."""
    known = {one.name: one for one in training}
    for one in tests:
        if known.get(one.name, one) != one:
            raise ConfigError(
                f"env_args.test_map_cycle: env_args.map_cycle has another {called} called {one.name}. Give one of them "
                "another name."
            )
    return tests if test_mode and tests else training


def cycle_of(key: str, entries: Any, form: str, called: str, read: Callable[[str, Any], list[Named]]) -> list[Named]:
    """What the entries of `env_args.<key>` stand for, in their order.

    Args:
        form: what the value must be, for the message.
        called: what the entries are called.
        read: (key of an entry, entry) -> what it stands for; each has a `name`.

    Raises:
        ConfigError: an entry is invalid, they are more than `MOST_RACES`, or two that differ have one name.
    """
    if not isinstance(entries, list | tuple):
        raise ConfigError(f"env_args.{key} is {quoted(entries)}; it must be {form}.")
    found: list[Named] = []
    for number, entry in enumerate(entries):
        found += read(f"env_args.{key}[{number}]", entry)
        if len(found) > MOST_RACES:
            raise ConfigError(f"env_args.{key} has more than {MOST_RACES} races.")
    known: dict[str, Named] = {}
    for one in found:
        if known.setdefault(one.name, one) != one:
            raise ConfigError(f"env_args.{key}: two {called} are called {one.name}. Give one of them another name.")
    return found


def require_keys(where: str, entry: Mapping[str, Any], keys: Sequence[str]) -> None:
    """Raises: ConfigError: the entry has a key that is not one of these."""
    for key in entry:
        if key not in keys:
            raise ConfigError(f"{where}.{quoted(key)}: there is no such key.{suggestion(str(key), keys)}")


def name_of(where: str, name: Any, file_stem: str) -> str:
    """The name of an entry; without one, its file's. Raises ConfigError: it is invalid."""
    if not name:
        return re.sub(r"[^A-Za-z0-9_-]", "_", file_stem)[:60]
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise ConfigError(f"{where}.name is {quoted(name)}; it must have up to 60 letters, digits, '_' and '-'.")
    return name


def lasting(cycle: Any) -> Any:
    """The entries of a cycle with whole paths of their files; what is no list stays as it is."""
    return [_lasting(entry) for entry in cycle] if isinstance(cycle, list | tuple) else cycle


def _lasting(entry: Any) -> Any:
    if isinstance(entry, Mapping):
        return {key: _lasting(value) if key in FILES_OF_ENTRIES else value for key, value in entry.items()}
    is_file = isinstance(entry, str) and entry.partition(":")[0] not in SEEDS
    return whole_path(entry) if is_file else entry


def _races(half_width: float, metres: float, where: str, entry: Any) -> list[Race]:
    given: dict[str, Any] = {"half_width": half_width, "metres": metres, "repeat": 1, "name": ""}
    if isinstance(entry, Mapping):
        require_keys(where, entry, KEYS)
        given |= entry
    else:
        given["track"] = entry
    require_number(f"{where}.repeat", given["repeat"], 1, MOST_RACES, whole=True)
    require_number(f"{where}.half_width", given["half_width"], *HALF_WIDTHS)
    require_number(f"{where}.metres", given["metres"], *LENGTHS)
    track = given.get("track")
    if not isinstance(track, str) or not track:
        raise ConfigError(f"{where} is {quoted(entry)}; a track is 'seed:7', 'seeds:0-99', or the path of a file.")
    seeds = _seeds(where, track)
    name = name_of(where, given["name"], "track" if seeds else Path(track).stem)
    size = float(given["half_width"]), float(given["metres"])
    if seeds is None:
        return [Race(name, *size, file=track)] * given["repeat"]
    alone = len(seeds) == 1 and given["name"]
    races = [Race(name if alone else f"{name}_{seed}", *size, seed=seed) for seed in seeds]
    return [race for race in races for _ in range(given["repeat"])]


def _seeds(where: str, track: str) -> range | None:
    """The seeds that a track by seed names; None: it is a file."""
    kind, colon, rest = track.partition(":")
    if not colon or kind not in SEEDS:
        return None
    found = re.fullmatch(r"(\d{1,10})" if kind == "seed" else r"(\d{1,10})-(\d{1,10})", rest)
    if not found:
        raise ConfigError(f"{where} is '{quoted(track)}'; write seed:7, or seeds:0-99.")
    numbers = [int(number) for number in found.groups()]
    first, last = numbers[0], numbers[-1]
    if not first <= last <= MOST_SEED or last - first >= MOST_RACES:
        raise ConfigError(f"{where} is '{track}'; seeds are from 0 to {MOST_SEED}, at most {MOST_RACES}, in order.")
    return range(first, last + 1)
