"""Deleting a run to the bin: a hidden folder beside the runs, from which it can be moved back by hand."""

import json
import os
from datetime import UTC, datetime
from pathlib import Path

from browser.page.parts.notes import NotWrittenError
from browser.reading import Run
from browser.reading.files import inside, is_file_name
from records.layout import NAMED_BY_TOKEN

BIN = ".bin"


def move_to_bin(root: Path, run: Run) -> Path:
    """Move all that a run left, of all its sessions, to a new folder in the bin, and return that.

    Its file moved.json lists the former places. Nothing is deleted.

    Raises:
        NotWrittenError: the run is still running, or it cannot be moved; what was moved by then is moved back.
        OutsideResultsError: something of the run lies outside the results folder, or the bin is a link.
    """
    if any(session.status_at() == "RUNNING" for session in run.sessions):
        raise NotWrittenError("This run is still running; stop it before deleting it.")
    folders = [session.folder for session in run.sessions if session.folder is not None]
    if run.token and is_file_name(run.token):
        folders += [Path(part, run.token) for part in NAMED_BY_TOKEN]
    there = [folder for folder in folders if inside(root, folder).is_dir() and not (root / folder).is_symlink()]
    if any(inside(root, folder) == root for folder in there):
        raise NotWrittenError("This run is the whole results folder; delete it by hand.")
    place = inside(root, BIN) / f"{datetime.now(UTC):%Y-%m-%d_%H-%M-%S-%f}"
    moved: list[Path] = []
    try:
        for folder in there:
            target = place / folder
            target.parent.mkdir(parents=True, exist_ok=True)
            os.rename(root / folder, target)
            moved.append(folder)
        place.mkdir(parents=True, exist_ok=True)
        (place / "moved.json").write_text(json.dumps([str(folder) for folder in moved], indent=1), encoding="utf-8")
    except OSError as error:
        for folder in reversed(moved):
            os.rename(place / folder, root / folder)
        raise NotWrittenError(f"The run could not be moved to {place}: {error.strerror}.") from None
    return place
