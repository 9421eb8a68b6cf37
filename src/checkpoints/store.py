"""The checkpoints of one run: which there are, the newest whole one, the best one, and which may go."""

import contextlib
import shutil
from dataclasses import dataclass
from pathlib import Path

from checkpoints.errors import CheckpointError
from checkpoints.folder import MANIFEST, put_in_place, read_manifest, verify

CHECKPOINTS = "checkpoints"


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
        """The mean return of the last test before it; None if there was none, or it was no number."""
        value = self.manifest.get("test_return_mean")
        return value if isinstance(value, int | float) and value == value else None


def checkpoints_of(run_folder: Path) -> tuple[list[Checkpoint], list[str]]:
    """The checkpoints of a run, newest first, and what is wrong with folders that are none. Files are not verified."""
    found, problems = [], []
    folder = run_folder / CHECKPOINTS
    for path in sorted(folder.iterdir()) if folder.is_dir() else []:
        if not path.is_dir():
            continue
        try:
            found.append(Checkpoint(path, read_manifest(path)))
        except CheckpointError as error:
            if not path.name.startswith("."):  # one that was being written
                problems.append(str(error))
    return sorted(found, key=lambda checkpoint: -checkpoint.number), problems


def newest_checkpoint(run_folder: Path) -> tuple[Checkpoint, list[str]]:
    """The newest checkpoint whose files are all as they were written, and what is wrong with newer ones.

    Raises:
        CheckpointError: there is none.
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
        raise CheckpointError(f"{run_folder} has no checkpoint that is whole:\n" + "\n".join(problems))
    raise CheckpointError(
        f"{run_folder} has no checkpoint to go on from. Runs write them as the keys checkpoint_interval and "
        "checkpoint_minutes say, and when they are interrupted."
    )


def settled(checkpoint: Checkpoint) -> Checkpoint:
    """The checkpoint under its own name, if the run was killed when it was whole, but had not got it yet."""
    place = checkpoint.folder.with_name(str(checkpoint.manifest["t_env"]))
    if checkpoint.folder != place:
        put_in_place(checkpoint.folder, place)
    return Checkpoint(place, checkpoint.manifest)


def best_checkpoint(found: list[Checkpoint]) -> Checkpoint | None:
    """The one with the best test return; of equals the newest."""
    tested = [checkpoint for checkpoint in found if checkpoint.test_return is not None]
    return max(tested, key=lambda checkpoint: (checkpoint.test_return, checkpoint.number), default=None)


def prune(run_folder: Path, keep: int) -> None:
    """Remove all but the `keep` newest and the best checkpoint, and what was left unfinished."""
    found, _ = checkpoints_of(run_folder)
    best = best_checkpoint(found)
    kept = {checkpoint.folder for checkpoint in [*found[:keep], *([best] if best else [])]}
    for path in (run_folder / CHECKPOINTS).iterdir():
        if path.is_dir() and path not in kept:
            # without its manifest it is none, however little of it is removed
            with contextlib.suppress(OSError):
                (path / MANIFEST).unlink()
            shutil.rmtree(path, ignore_errors=True)
