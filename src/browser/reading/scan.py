"""Finding run folders: any depth below Sacred's folder, as the programs of the family differ in it."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from browser.reading.paths import OutsideResultsError, inside
from records.layout import MLFLOW, NAMED_BY_TOKEN, SACRED, WANDB

# EPyMARL's are results/sacred/NAME/MAP/N
DEEPEST = 4
# folders of a results folder that hold no Sacred runs, and Sacred's own
NOT_SACRED = frozenset((*NAMED_BY_TOKEN, WANDB, MLFLOW))
SACREDS_OWN = frozenset(("_sources", "_resources"))


class Found(NamedTuple):
    """A folder that may be a run: its id, its path, and its files by name."""

    run_id: str
    path: str
    files: dict[str, os.DirEntry]


def sacred_folder(root: Path) -> Path:
    """Where Sacred's runs are: `root`/sacred, or `root` itself when that is a folder of Sacred's."""
    below = root / SACRED
    return below if below.is_dir() and not below.is_symlink() else root


def find_runs(sacred: Path) -> Iterator[Found]:
    """Folders with a run.json below `sacred`, or `sacred` itself.

    Links are not followed; hidden folders and Sacred's _sources and _resources are left out.
    """
    yield from _find(str(sacred), (), sacred.name)


def _find(folder: str, names: tuple[str, ...], own_name: str) -> Iterator[Found]:
    try:
        with os.scandir(folder) as listing:
            entries = {entry.name: entry for entry in listing}
    except OSError:
        return
    if "run.json" in entries:
        yield Found("/".join(names) or own_name, folder, entries)
        return
    if len(names) == DEEPEST:
        return
    for name, entry in entries.items():
        if name[0] == "." or name in SACREDS_OWN or (not names and name in NOT_SACRED):
            continue
        if not entry.is_dir(follow_symlinks=False):
            continue
        yield from _find(entry.path, (*names, name), own_name)


def entries_of(root: Path, *names: str | Path) -> list[os.DirEntry]:
    """The entries of a folder below `root`, sorted by name; empty if it does not exist or lies behind a link."""
    try:
        with os.scandir(inside(root, *names)) as listing:
            return sorted(listing, key=lambda entry: entry.name)
    except (OSError, OutsideResultsError):
        return []


def subfolders(root: Path, *names: str | Path) -> list[str]:
    """Names of the folders in a folder below `root`, sorted; links are left out."""
    return [entry.name for entry in entries_of(root, *names) if entry.is_dir(follow_symlinks=False)]
