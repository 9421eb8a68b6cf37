"""Folders of models that appear whole, and stay whole when they are replaced."""

import contextlib
import os
import shutil
from pathlib import Path


def replace_folder(folder: Path, place: Path) -> None:
    """Give a folder that is complete its name; one that had it is removed.

    If the process dies in between, the old one is at `replaced_by(place)` and nothing is lost.
    """
    replaced = replaced_by(place)
    if folder != replaced:
        shutil.rmtree(replaced, ignore_errors=True)
    with contextlib.suppress(FileNotFoundError):
        os.rename(place, replaced)
    os.rename(folder, place)
    sync(place.parent)
    shutil.rmtree(replaced, ignore_errors=True)


def replaced_by(place: Path) -> Path:
    """The place where `replace_folder` keeps the replaced folder for a moment."""
    # a valid name even if the path has none, such as "."
    return place.parent / f".{place.name}.replaced"


def sync(path: Path) -> None:
    """Bring a file's content, or the names in a folder, to the disk."""
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except PermissionError:  # Windows opens no folders
        return
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
