"""The manifests of saved models, in the form of a checkpoint's: is every file as it was written?"""

import os
from pathlib import Path

from checkpoints.errors import CheckpointError
from checkpoints.folder import (
    FORMAT,
    OF_MODELS,
    PLAIN_NAME,
    STATE,
    file_entry,
    manifest_bytes,
    read_manifest,
    sealed,
    verify_file,
)
from checkpoints.segments import PREFIX
from records.layout import BEST, CHECKPOINTS, MANIFEST, MODELS, RUNS, place_of_run
from records.recorded import json_mapping

MOST_NAMED = 3


def add_manifest(folder: Path) -> None:
    """Write the manifest of the files of a model that is complete.

    Raises:
        OSError: it cannot be written.
    """
    names = [path.relative_to(folder).as_posix() for path in sorted(folder.rglob("*")) if path.is_file()]
    files = {name: file_entry(folder / name) for name in names if PLAIN_NAME.fullmatch(name)}
    (folder / MANIFEST).write_bytes(manifest_bytes(sealed({"files": files})))


def require_intact(model: Path) -> None:
    """Refuse a model of which a file has changed since it was written.

    Files that are missing are missed by those who read them: to play, the controller's are enough. Models of other
    programs and of older versions have no manifest, see `note_of`.

    Raises:
        CheckpointError: with the file, and the models beside it that are intact.
    """
    try:
        _verify(model)
    except CheckpointError as error:
        intact = _intact_beside(model)
        others = f" Intact: {', '.join(map(str, intact))}." if intact else " No other model beside it is intact."
        raise CheckpointError(
            f"{error}{others} If the change was made on purpose, remove {model / MANIFEST} to load it unchecked."
        ) from None


def note_of(model: Path) -> str:
    """What to say of a model whose files nothing vouches for, after its name; else empty."""
    return "" if _is_vouched_for(model) else f" (it has no {MANIFEST} of today's form, so its files were not checked)"


def _is_vouched_for(model: Path) -> bool:
    """Whether there is a manifest; those of other programs, and of checkpoints of older versions, have another form."""
    content = json_mapping(model / MANIFEST)
    return os.path.lexists(model / MANIFEST) and (not content or content.get("format") == FORMAT)


def _verify(model: Path) -> None:
    if not _is_vouched_for(model):
        return
    for name, entry in read_manifest(model, OF_MODELS)["files"].items():
        of_model = name != STATE and not name.startswith(PREFIX)
        if of_model and os.path.lexists(model / name):
            verify_file(model / name, entry)


def _intact_beside(model: Path) -> list[Path]:
    """A few models beside this one, and of the same run, the nearest steps first."""
    folders = [model.parent]
    if (place := place_of_run(model)) is not None:
        results, _, token = place
        folders += [results / MODELS / token, results / RUNS / token / CHECKPOINTS]
    found = {path.resolve(): path for folder in folders if folder.is_dir() for path in folder.iterdir()}
    found.pop(model.resolve(), None)
    steps = {path: int(path.name) for path in found.values() if path.name.isdecimal() and any(path.glob("**/*.th"))}
    own = int(model.name) if model.name.isdecimal() else max(steps.values(), default=0)
    near = sorted(steps, key=lambda path: abs(steps[path] - own))
    best = [path for path in found.values() if path.name == BEST]
    return [path for path in best + near if _is_intact(path)][:MOST_NAMED]


def _is_intact(model: Path) -> bool:
    try:
        _verify(model)
    except CheckpointError:
        return False
    return True
