"""Recordings: whole episodes, step by step, in NumPy's files.

A folder has `recording.json` (the environment, and the fields of a step) and parts `0.npz`, `1.npz`, ..., each written
whole: of every field an array `[N, ...]` of the steps of whole episodes, one after the other, and `episode`, int64
`[N]`, which episode each belongs to. The last step of an episode is the closing state, in which nothing was done, where
the environment showed one.
"""

import io
import json
import os
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from envs.recorded.description import EPISODE, Description, described
from envs.recorded.episodes import Steps
from utils.errors import ConfigError, MusterError
from utils.files.regular_files import read_regular
from utils.files.whole_files import write_whole
from utils.plain_values import quoted

FORMAT, VERSION, HEADER = "muster-recording", 2, "recording.json"
LONGEST_HEADER = 2**20
# bytes of the arrays of a part
LARGEST_PART = 2**31
# kinds of NumPy's types: truth values, whole numbers, floats
NUMBERS = "biuf"


class Recording:
    """Reads a folder of steps.

    Raises:
        ConfigError: it is no such folder, of another version, without steps, or damaged.
    """

    format = "recording"

    def __init__(self, folder: str | Path):
        self.folder = Path(folder)
        header = read_header(self.folder)
        where = str(self.folder / HEADER)
        self.description: Description = described(where, header, str(header.get("env")), header["env_args"])
        self.files = _parts_in(self.folder)
        if not self.files:
            raise ConfigError(f"{quoted(str(folder), 300)} has no steps.")

    def parts(self) -> Iterator[Steps]:
        """The steps, part by part; an episode is in one part."""
        for path in self.files:
            yield self._checked(path, _arrays(path))

    def _checked(self, path: Path, steps: Steps) -> Steps:
        expected = self.description.arrays
        count = len(steps[EPISODE])
        for key, shape in expected.items():
            found = steps[key].shape if key in steps else None
            if found != (count, *shape):
                raise ConfigError(f"{path} is damaged: {quoted(key)} has the shape {found}, not {(count, *shape)}.")
            if steps[key].dtype.kind not in NUMBERS:
                raise ConfigError(f"{path} is damaged: {quoted(key)} has no numbers but {steps[key].dtype}.")
        return {key: steps[key] for key in (EPISODE, *expected)}


class RecordingWriter:
    """Writes episodes into a folder, which is made with the first; a recording that is there already is added to.

    `episodes`, `steps`, `files`: how many the folder has.

    Args:
        description: of the steps.
        on_made: called when the folder was made.

    Raises:
        ConfigError: what is there is no recording, or is one of another environment.
    """

    def __init__(self, folder: str | Path, description: Description, on_made: Callable[[], None] = lambda: None):
        self._folder, self._on_made = Path(folder), on_made
        self.files = self.episodes = self.steps = 0
        said = description.as_json()
        header = {"format": FORMAT, "version": VERSION, "env": description.env, "env_args": description.env_args} | said
        self._header = json.dumps(header, indent=1).encode()
        if not self._folder.exists() or (self._folder.is_dir() and not any(self._folder.iterdir())):
            return
        found = read_header(self._folder)
        for key in ("env", "env_args", "fields", "groups"):
            if found.get(key) != json.loads(self._header)[key]:
                raise ConfigError(
                    f"{quoted(str(self._folder), 300)} is a recording of {key}={quoted(found.get(key), 300)}, not of "
                    f"{quoted(header[key], 300)}. Choose another folder."
                )
        self._count()

    def _count(self) -> None:
        """Count what the folder has."""
        parts = _parts_in(self._folder)
        numbers = [_array(path, EPISODE) for path in parts]
        self.files = 1 + int(parts[-1].stem) if parts else 0
        self.steps = sum(map(len, numbers))
        self.episodes = 1 + max((int(each.max(initial=-1)) for each in numbers), default=-1)

    def add(self, steps: Steps) -> None:
        """Write a part: steps of whole episodes, whose numbers count on from those that are there.

        Args:
            steps: `episode` counts from 0.

        Raises:
            MusterError: they cannot be written; what was written before is still there.
        """
        packed = io.BytesIO()
        arrays: dict[str, Any] = {**steps, EPISODE: steps[EPISODE] + self.episodes}
        np.savez_compressed(packed, **arrays)
        try:
            if not self.files:
                os.makedirs(self._folder, mode=0o700, exist_ok=True)
                write_whole(str(self._folder / HEADER), self._header)
                self._on_made()
            write_whole(str(self._folder / f"{self.files}.npz"), packed.getvalue())
        except OSError as error:
            raise MusterError(
                f"The recording {quoted(str(self._folder), 300)} cannot be written: {error.strerror}."
            ) from error
        self.files += 1
        self.steps += len(steps[EPISODE])
        self.episodes += 1 + int(steps[EPISODE].max())

    def cut(self, files: int) -> None:
        """Remove the parts from number `files` on: a run resumes from before them."""
        for path in _parts_in(self._folder):
            if int(path.stem) >= files:
                path.unlink()
        self._count()


def read_header(folder: Path) -> dict[str, Any]:
    """What stands in `recording.json`.

    Raises:
        ConfigError: it is not one, or of another version.
    """
    try:
        header = json.loads(read_regular(folder / HEADER, LONGEST_HEADER))
    except OSError as error:
        raise ConfigError(
            f"{quoted(str(folder), 300)} is no recording: {HEADER} cannot be read ({error.strerror})."
        ) from None
    except (ValueError, RecursionError):
        header = None
    if not isinstance(header, dict) or header.get("format") != FORMAT or not isinstance(header.get("env_args"), dict):
        raise ConfigError(f"{folder / HEADER} is not the header of a recording.")
    if header.get("version") != VERSION:
        raise ConfigError(f"{folder} has version {quoted(header.get('version'))}; this Muster reads version {VERSION}.")
    return header


def _parts_in(folder: Path) -> list[Path]:
    """In their order."""
    return sorted((path for path in folder.glob("*.npz") if path.stem.isdecimal()), key=lambda path: int(path.stem))


def _arrays(path: Path) -> Steps:
    """All arrays of a part.

    Raises:
        ConfigError: it is damaged, or too large.
    """
    return _read(path, lambda names: names)


def _array(path: Path, name: str) -> np.ndarray:
    return _read(path, lambda names: [name])[name]


def _read(path: Path, chosen: Callable[[list[str]], list[str]]) -> Steps:
    try:
        with zipfile.ZipFile(path) as packed:
            size = sum(member.file_size for member in packed.infolist())
        if size > LARGEST_PART:
            raise ConfigError(f"{path} has {size} bytes of arrays, more than {LARGEST_PART}.")
        with np.load(path, allow_pickle=False) as arrays:
            steps = {name: arrays[name] for name in chosen(arrays.files)}
    except (OSError, ValueError, KeyError, EOFError, MemoryError, zipfile.BadZipFile) as error:
        raise ConfigError(f"{path} is damaged: {error}") from None
    if EPISODE not in steps or steps[EPISODE].dtype != np.int64 or steps[EPISODE].ndim != 1:
        raise ConfigError(f"{path} is damaged: it has no numbers of episodes.")
    return steps
