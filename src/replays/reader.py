"""Reading a replay, also one that is still being written."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from replays.writer import FORMAT, VERSION
from utils.errors import ConfigError
from utils.files.regular_files import read_regular

# an episode of 10,000 steps with a hundred units takes less
LARGEST = 2**28


@dataclass
class Replay:
    """One recorded episode; docs/replays.md explains the fields.

    `steps` has one entry more than the episode has steps, the closing state, once it is complete; `footer` is None
    before that, and for good if the recording was cut off.
    """

    header: dict[str, Any]
    steps: list[dict[str, Any]]
    footer: dict[str, Any] | None


def read_replay(path: str | Path) -> Replay:
    """Read a replay as far as it is written. A last line that is torn is left out.

    Raises:
        ConfigError: there is no such file, it is longer than `LARGEST` bytes, it is not a replay, a later version wrote
            it, or a line within it is broken.
    """
    try:
        lines = read_regular(path, LARGEST, follow_links=True).split(b"\n")
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}.") from None
    unfinished = lines.pop()
    entries = [_parsed(line) for line in lines]
    if (last := _parsed(unfinished)) is not None:
        entries.append(last)
    elif not unfinished and entries and entries[-1] is None:
        # the line break may be there although the text before it was lost, e.g. with a full disk
        entries.pop()
    return _replay(path, entries)


def _parsed(line: bytes) -> dict | None:
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return entry if isinstance(entry, dict) else None


def _replay(path: str | Path, entries: list[dict | None]) -> Replay:
    header = entries[0] if entries else None
    if header is None or header.get("format") != FORMAT:
        raise ConfigError(f'{path} is not a replay: a replay\'s first line is a header with "format": "{FORMAT}".')
    version = header.get("version")
    if not isinstance(version, int) or version > VERSION:
        raise ConfigError(f"{path} is a replay of version {version}; this Muster reads versions up to {VERSION}.")
    replay = Replay(header, [], None)
    for number, entry in enumerate(entries[1:], start=2):
        if entry is None:
            raise ConfigError(f"{path}, line {number}: invalid; the file is damaged.")
        if entry.get("type") == "step" and isinstance(entry.get("snapshot"), dict):
            replay.steps.append(entry)
        elif entry.get("type") == "footer":
            replay.footer = entry
        else:
            raise ConfigError(f"{path}, line {number}: expected a step with a snapshot, or the footer.")
    return replay
