"""The checkpoints of one run: which there are, the newest whole one, the best one, and which may go."""

import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from checkpoints.errors import CheckpointError
from checkpoints.folder import (
    REMOVED,
    REPLACED,
    UNFINISHED,
    hidden,
    put_in_place,
    read_manifest,
    remove,
    verify,
)
from records.layout import CHECKPOINTS


@dataclass
class Checkpoint:
    """A checkpoint that claims to be whole."""

    folder: Path
    manifest: dict

    @property
    def number(self) -> int:
        """Its place in the order in which the run wrote them."""
        return self.manifest["number"]

    @property
    def test_return(self) -> float | None:
        """The mean return of the last test before it; None without a test, or if it is not a number."""
        value = self.manifest.get("test_return_mean")
        return value if isinstance(value, int | float) and value == value else None


def checkpoints_of(run_folder: Path) -> tuple[list[Checkpoint], list[str]]:
    """The checkpoints of a run, newest first, and the problems of folders named as one. Files are not verified.

    Only folders that are named by a step, or as the run names one that it is writing, can be checkpoints; a user's own
    folders beside them are left alone. Links are not followed.
    """
    found: list[Checkpoint] = []
    problems: list[str] = []
    for path, step in _named_as_checkpoints(run_folder, (UNFINISHED, REPLACED), problems):
        try:
            manifest = read_manifest(path)
        except CheckpointError as error:
            if not path.name.startswith("."):  # one that was being written
                problems.append(str(error))
            continue
        if manifest["t_env"] == step:
            found.append(Checkpoint(path, manifest))
        else:
            problems.append(f"{path} is a checkpoint of step {manifest['t_env']} under another name.")
    return sorted(found, key=lambda checkpoint: -checkpoint.number), problems


def _named_as_checkpoints(run_folder: Path, kinds: tuple[str, ...], problems: list[str]) -> Iterator[tuple[Path, int]]:
    """The folders in `checkpoints` that are named by a step, or `hidden` as one of `kinds`, and that step."""
    folder = run_folder / CHECKPOINTS
    for link in (run_folder, folder):
        if link.is_symlink():
            problems.append(f"{link} is a link; checkpoints are looked for in real folders only.")
            return
    for path in sorted(folder.iterdir()) if folder.is_dir() else []:
        place = _place_of(path, run_folder.name, kinds)
        if place is None:
            continue
        if path.is_symlink():
            problems.append(f"{path} is a link, which is not followed.")
        elif path.is_dir():
            yield path, int(place.name)


def _place_of(path: Path, token: str, kinds: tuple[str, ...]) -> Path | None:
    """Where the checkpoint belongs that such a folder could be; None: its name is nothing that this run has given."""
    step = re.match(r"\.?(0|[1-9][0-9]{0,18})(?![0-9])", path.name)
    if step is None:
        return None
    place = path.with_name(step[1])
    return place if path in (place, *(hidden(place, token, kind) for kind in kinds)) else None


def newest_checkpoint(run_folder: Path) -> tuple[Checkpoint, list[str]]:
    """The newest checkpoint whose files are all as they were written, and the problems of newer ones.

    Raises:
        CheckpointError: no checkpoint is valid.
    """
    found, problems = checkpoints_of(run_folder)
    for checkpoint in found:
        try:
            verify(checkpoint.folder, checkpoint.manifest)
        except CheckpointError as error:
            problems.append(str(error))
        else:
            return checkpoint, problems
    if problems:
        raise CheckpointError(f"{run_folder} has no valid checkpoint:\n" + "\n".join(problems))
    raise CheckpointError(
        f"{run_folder} has no checkpoint to resume from. Runs write checkpoints at the intervals checkpoint_interval "
        "and checkpoint_minutes, when they are interrupted, and at their end (last_checkpoint)."
    )


def settled(checkpoint: Checkpoint) -> Checkpoint:
    """The checkpoint under its own name, if the run was killed when it was whole, but had not got it yet."""
    place = checkpoint.folder.with_name(str(checkpoint.manifest["t_env"]))
    if checkpoint.folder != place:
        put_in_place(checkpoint.folder, place, checkpoint.folder.parent.parent.name)
    return Checkpoint(place, checkpoint.manifest)


def best_checkpoint(found: list[Checkpoint]) -> Checkpoint | None:
    """The one with the best test return; of equals the newest."""
    tested = [checkpoint for checkpoint in found if checkpoint.test_return is not None]
    return max(tested, key=lambda checkpoint: (checkpoint.test_return, checkpoint.number), default=None)


def prune(run_folder: Path, keep: int) -> None:
    """Remove all but the `keep` newest and the best of the checkpoints that this run has written, and its unfinished
    ones. Everything else stays: folders with names or manifests of others, and links.
    """
    token = run_folder.name
    found = [checkpoint for checkpoint in checkpoints_of(run_folder)[0] if checkpoint.manifest["token"] == token]
    best = best_checkpoint(found)
    kept = {checkpoint.folder for checkpoint in [*found[:keep], *([best] if best else [])]}
    for path, step in _named_as_checkpoints(run_folder, (UNFINISHED, REPLACED, REMOVED), []):
        if path.name != str(step) and path not in kept:
            shutil.rmtree(path, ignore_errors=True)
    for checkpoint in found:
        if checkpoint.folder not in kept and checkpoint.folder.exists():
            remove(checkpoint.folder, token)
