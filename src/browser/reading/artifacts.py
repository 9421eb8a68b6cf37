"""What a run left behind: models, checkpoints, replays and other files, each with its size and time."""

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path

from browser.reading.files import entries_of, subfolders
from browser.reading.session import Session
from records.layout import CHECKPOINTS, MODELS, REPLAYS, RUNS, TB_LOGS, TRACES
from utils.files.regular_files import problem_of

# of one run; a checkpoint has a file per episode of its buffer
MOST_FILES = 5000
# files of Sacred, of every session
_RECORDS = frozenset(("run.json", "config.json", "info.json", "metrics.json", "cout.txt"))


@dataclass(frozen=True)
class Artifact:
    """A file or folder that a run left behind.

    Attributes:
        kind: "artifact" (given to Sacred), "model", "checkpoint", "replay", "trace" or "tensorboard".
        name: the file's name, or the environment step of a model or checkpoint.
        path: relative to the results folder.
        t_env: the environment step it belongs to, where that is known.
    """

    kind: str
    name: str
    path: Path
    t_env: int | None = None


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


def artifacts_of(root: Path, sessions: Iterable[Session], token: str | None) -> list[Artifact]:
    """Files given to Sacred; then models, checkpoints, replays and TensorBoard events by step or name."""
    found = [
        Artifact("artifact", name, session.folder / name)
        for session in sessions
        for name in session.artifacts
        if session.folder is not None
    ]
    if not token:
        return found
    for kind, parts in (("model", (MODELS, token)), ("checkpoint", (RUNS, token, CHECKPOINTS))):
        names = [name for name in subfolders(root, *parts) if name.isdecimal() and len(name) < 19]
        found += [Artifact(kind, name, Path(*parts, name), int(name)) for name in sorted(names, key=int)]
    replays = [entry.name for entry in entries_of(root, REPLAYS, token) if entry.name[0] != "."]
    found += [Artifact("replay", name, Path(REPLAYS, token, name)) for name in replays]
    traces = [entry.name for entry in entries_of(root, RUNS, token, TRACES) if entry.name[0] != "."]
    found += [Artifact("trace", name, Path(RUNS, token, TRACES, name)) for name in traces]
    if token in subfolders(root, TB_LOGS):
        found.append(Artifact("tensorboard", token, Path(TB_LOGS, token)))
    return found


def files_of(root: Path, sessions: Sequence[Session], token: str | None) -> list[RunFile]:
    """The files of the artifacts in their order, then the records; at most MOST_FILES.

    Links are not followed; one in a file's place is listed with its problem.
    """
    return list(islice(_files(root, sessions, token), MOST_FILES))


def _files(root: Path, sessions: Sequence[Session], token: str | None) -> Iterator[RunFile]:
    for artifact in artifacts_of(root, sessions, token):
        if artifact.kind in ("artifact", "replay", "trace"):
            yield from _in_folder(root, artifact.kind, artifact.path.parent, {artifact.path.name})
        else:
            yield from _in_folder(root, artifact.kind, artifact.path, t_env=artifact.t_env)
    for session in sessions:
        if session.folder is not None:
            yield from _in_folder(root, "record", session.folder, _RECORDS)
    if token:
        yield from _in_folder(root, "record", Path(RUNS, token))


def _in_folder(
    root: Path, kind: str, folder: Path, names: Iterable[str] = (), t_env: int | None = None
) -> Iterator[RunFile]:
    """The files with these names; without any, all that are neither folders nor hidden."""
    for entry in entries_of(root, folder):
        if entry.name in names if names else not entry.is_dir(follow_symlinks=False) and entry.name[0] != ".":
            yield from _file(kind, folder, entry, t_env)


def _file(kind: str, folder: Path, entry: os.DirEntry, t_env: int | None) -> Iterator[RunFile]:
    try:
        status = entry.stat(follow_symlinks=False)
        changed = datetime.fromtimestamp(status.st_mtime, UTC)
    except (OSError, OverflowError, ValueError):
        return
    yield RunFile(kind, folder / entry.name, status.st_size, changed, t_env, problem_of(status))
