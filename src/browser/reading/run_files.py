"""The files that a run left behind, each with its size and time."""

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path

from browser.reading.lineage import Lineage
from browser.reading.record import Artifact
from browser.reading.scan import entries_of
from records.layout import RUNS
from utils.files.regular_files import problem_of

# of one run; a checkpoint has a file per episode of its buffer
MOST_FILES = 5000
# files of Sacred and the metric log, of every run
_RECORDS = frozenset(("run.json", "config.json", "info.json", "metrics.json", "cout.txt"))


@dataclass(frozen=True)
class RunFile:
    """One file.

    Attributes:
        kind: as of an `Artifact`, or "record": what Sacred, the metric log and `summary=True` write.
        path: relative to the results folder.
        size: bytes.
        changed: UTC.
        t_env: the environment step it belongs to; None if to none.
        problem: why it cannot be read; empty if it can.
    """

    kind: str
    path: Path
    size: int
    changed: datetime
    t_env: int | None = None
    problem: str = ""


def files_of_run(root: Path, run: Lineage, artifacts: Iterable[Artifact]) -> list[RunFile]:
    """Given artifacts first, then models, checkpoints, replays, events and records; at most MOST_FILES.

    Links are not followed; one in a file's place is listed with its problem.

    Args:
        root: the results folder, resolved.
        artifacts: `Results.artifacts` of the run.
    """
    return list(islice(_files(root, run, artifacts), MOST_FILES))


def _files(root: Path, run: Lineage, artifacts: Iterable[Artifact]) -> Iterator[RunFile]:
    for artifact in artifacts:
        if artifact.kind in ("artifact", "replay"):
            yield from _named(root, artifact.kind, artifact.path.parent, {artifact.path.name})
        else:
            yield from _within(root, artifact.kind, artifact.path, artifact.t_env)
    for session in run.sessions:
        if session.folder is not None:
            yield from _named(root, "record", session.folder, _RECORDS)
    if run.token:
        yield from _within(root, "record", Path(RUNS, run.token))


def _within(root: Path, kind: str, folder: Path, t_env: int | None = None) -> Iterator[RunFile]:
    for entry in entries_of(root, folder):
        if not entry.is_dir(follow_symlinks=False) and entry.name[0] != ".":
            yield from _file(kind, folder, entry, t_env)


def _named(root: Path, kind: str, folder: Path, names: frozenset[str] | set[str]) -> Iterator[RunFile]:
    for entry in entries_of(root, folder):
        if entry.name in names:
            yield from _file(kind, folder, entry, None)


def _file(kind: str, folder: Path, entry: os.DirEntry, t_env: int | None) -> Iterator[RunFile]:
    try:
        status = entry.stat(follow_symlinks=False)
        changed = datetime.fromtimestamp(status.st_mtime, UTC)
    except (OSError, OverflowError, ValueError):
        return
    yield RunFile(kind, folder / entry.name, status.st_size, changed, t_env, problem_of(status))
